package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// get is scenario (b): GetTask of any of many tasks, which were sent to the
// server as messages before.
type get struct{}

func (get) about() about {
	return about{
		key: "b", title: "GetTask, of any task of a full store", unit: "calls/s", done: "call",
		bars: []bar{against("100,000 tasks, 64 connections", "bare", 0.7)},
	}
}

func (get) cases(p *plan) []setting {
	n, conns := 100_000, p.conns
	if p.short {
		n = 1000
	}
	list := byConns(conns)
	for i := range list {
		list[i].n = n
		list[i].label = thousands(n) + " tasks, " + list[i].label
	}
	return list
}

func (get) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	srv, tasks, err := b.filled(ctx, of, k.n)
	if err != nil {
		return nil, err
	}
	return &loadBout{kept: srv, shared: true, load: func(srv *server) *load {
		return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
			c, err := dial(ctx, srv.addr, wide, until)
			if err != nil {
				return nil, err
			}
			return &getter{c: c, d: of.dialect, ids: newIDs(i), tasks: tasks}, nil
		})
	}}, nil
}

type getter struct {
	c     *conn
	d     *dialect
	ids   ids
	q     call
	tasks []stored
}

func (g *getter) do(_ context.Context, n int) (int, error) {
	t := &g.tasks[rand.IntN(len(g.tasks))]
	g.d.getting(&g.q, g.ids.next(), t.id)
	answer, err := g.c.do(&g.q)
	if err != nil {
		return 0, err
	}
	if !has(answer, `"id":"`, t.id, `"`) {
		return 0, fmt.Errorf("the answer is not task %s: %.600q", t.id, answer)
	}
	return 1, g.d.completedWith(answer, g.ids.last(), t.text, n%thorough == 0)
}

func (g *getter) close() { g.c.close() }

// stored is a task that a server has, completed, with an artifact of one text.
type stored struct{ id, context, text string }

// fillers are the connections over which a server is filled.
const fillers = 16

// fill sends messages until srv has n tasks; every fourth begins a new context.
func fill(ctx context.Context, srv *server, n int, until time.Time) ([]stored, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tasks := make([]stored, n)
	var next atomic.Int64
	var running sync.WaitGroup
	for range fillers {
		running.Go(func() {
			c, err := dial(ctx, srv.addr, wide, until)
			if err != nil {
				cancel(err)
				return
			}
			defer c.close()
			defer context.AfterFunc(ctx, c.close)()
			d, ids := srv.of.dialect, newIDs(0)
			var q call
			const each = 4
			for ctx.Err() == nil {
				first := int(next.Add(each)) - each
				in := ""
				for i := first; i < min(first+each, n); i++ {
					t, err := put(c, d, &q, ids.next(), in, fmt.Sprintf("%012d", i))
					if err != nil {
						cancel(fmt.Errorf("task %d of %d: %w", i, n, err))
						return
					}
					tasks[i], in = t, t.context
				}
				if first >= n {
					return
				}
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, srv.blame(fmt.Errorf("fill it: %w", err))
	}
	return tasks, nil
}

// put makes one task.
func put(c *conn, d *dialect, q *call, id, in, text string) (stored, error) {
	d.sending(q, id, &message{text: "echo " + text, context: in})
	answer, err := c.do(q)
	if err != nil {
		return stored{}, err
	}
	if err := d.completedWith(answer, id, text, false); err != nil {
		return stored{}, err
	}
	t, err := taskOf(answer)
	if err != nil {
		return stored{}, err
	}
	return stored{t.ID, t.ContextID, text}, nil
}

// thousands writes 1000000 as 1,000,000.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
