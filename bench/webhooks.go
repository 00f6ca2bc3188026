package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"
)

// webhooks is scenario (k): (a), alone and while other tasks of the same server post
// their updates to a receiver on loopback.
type webhooks struct{}

const (
	alone  = "alone"
	beside = "beside 200 webhooks/s"

	posters       = 8   // connections of the tasks that post
	postingTasks  = 100 // a second, over all of them; each posts twice
	leastWebhooks = 150 // a second, or the case fails
)

func (webhooks) about() about {
	return about{
		key: "k", title: "SendMessage \"echo\", alone and beside tasks that post webhooks", unit: "tasks/s", done: "task",
		bars: []bar{compared(beside+", 64 connections", alone+", 64 connections", 0.85)},
	}
}

// cases are of one server, so that they differ in nothing else.
func (webhooks) cases(p *plan) []setting {
	n, conns := 10_000, 64
	if p.short {
		n, conns = 1000, 4
	}
	var list []setting
	for _, what := range []string{alone, beside} {
		list = append(list, setting{label: fmt.Sprintf("%s, %d connections", what, conns), conns: conns, n: n, what: what, turn: "webhooks"})
	}
	return list
}

func (webhooks) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	if of.program != "parley" {
		return nil, lacks("the scenario compares Parley with itself")
	}
	srv, _, err := b.filled(ctx, of, k.n) // which warms it up
	if err != nil {
		return nil, err
	}
	x := loadBout{kept: srv, shared: true, load: func(srv *server) *load {
		return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
			return newSender(ctx, srv.addr, of.dialect, i, until)
		})
	}}
	if k.what == alone {
		return &x, nil
	}
	return newBeside(b, x), nil
}

// besideBout measures a load beside tasks that post.
type besideBout struct {
	loadBout
	b        *bench
	receiver *httptest.Server
	arrived  atomic.Int64  // webhooks, in all rounds so far
	elapsed  time.Duration // in which they did
}

func newBeside(b *bench, alone loadBout) *besideBout {
	x := &besideBout{loadBout: alone, b: b}
	x.receiver = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			x.arrived.Add(1)
		}
	}))
	return x
}

func (x *besideBout) close() {
	x.receiver.Close()
	x.loadBout.close()
}

func (x *besideBout) measure(ctx context.Context) (figures, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := pace{began: time.Now(), every: time.Second / postingTasks}
	posting := x.b.load(setting{conns: posters}, func(ctx context.Context, i int, until time.Time) (worker, error) {
		c, err := dial(ctx, x.kept.addr, wide, until)
		if err != nil {
			return nil, err
		}
		return &paced{&sender{c: c, d: x.kept.of.dialect, ids: newIDs(i), m: message{webhook: x.receiver.URL}}, &p, nil}, nil
	})
	var f figures
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := posting.run(ctx, x.kept); err != nil {
			cancel(fmt.Errorf("tasks that post: %w", err))
		}
	})
	both.Go(func() {
		var err error
		if f, err = x.loadBout.measure(ctx); err != nil {
			cancel(err)
		}
	})
	both.Wait()
	if err := context.Cause(ctx); err != nil {
		return figures{}, err
	}
	x.elapsed += time.Since(p.began)
	return f, x.judge(&f)
}

// judge says in f how many webhooks arrived, and fails if they are too few for f to
// mean anything.
func (x *besideBout) judge(f *figures) error {
	arrived := float64(x.arrived.Load())
	rate := arrived / x.elapsed.Seconds()
	underWay := min(time.Second, x.elapsed/2) // webhooks of that time may not have arrived yet
	if arrived < leastWebhooks*(x.elapsed-underWay).Seconds() {
		return fmt.Errorf("%.0f webhooks/s arrived, want at least %d", rate, leastWebhooks)
	}
	note := fmt.Sprintf("%.0f webhooks/s arrived", rate)
	if f.Note != "" {
		note += "; " + f.Note
	}
	f.Note = note
	return nil
}

// pace gives workers turns at a rate. Turns that a slow server missed are caught up.
type pace struct {
	began time.Time
	every time.Duration
	turns atomic.Int64
}

// paced is a worker that waits for its turn before each call. A call that is late because
// others were slow has been waited for since its turn, too.
type paced struct {
	worker
	pace   *pace
	delays *[]time.Duration // of all calls, since their turns; nil if nobody asks
}

func (p *paced) do(ctx context.Context, n int) (int, error) {
	turn := p.pace.began.Add(time.Duration(p.pace.turns.Add(1)) * p.pace.every)
	if err := pause(ctx, time.Until(turn)); err != nil {
		return 0, err
	}
	done, err := p.worker.do(ctx, n)
	if p.delays != nil {
		*p.delays = append(*p.delays, time.Since(turn))
	}
	return done, err
}
