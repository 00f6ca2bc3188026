package main

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"
)

// send is scenario (a): SendMessage that waits until the task has ended.
type send struct{}

func (send) about() about {
	return about{
		key: "a", title: "SendMessage \"echo\", answered when the task is completed", unit: "tasks/s", done: "task",
		bars: []bar{
			against("64 connections", "a2a-go", 12), against("64 connections", "a2a-js", 3.5),
			against("64 connections", "trpc-a2a-go", 0.8), against("64 connections", "bare", 0.25),
			between("with telemetry × without, 64 connections", need{parleyTraced, "64 connections"}, need{parleySilent, "64 connections"}, 0.97),
			between("on PostgreSQL × on SQLite, 64 connections", need{parleyShared, "64 connections"}, need{parleyDisk, "64 connections"}, 0.4),
			between("two on PostgreSQL × one, 64 connections", need{parleyTwo, "64 connections"}, need{parleyShared, "64 connections"}, 1),
		},
	}
}

func (send) cases(p *plan) []setting { return byConns(p.conns) }

func (send) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	return b.underLoad(ctx, of, func(srv *server) *load {
		return b.load(k, func(ctx context.Context, i int, until time.Time) (worker, error) {
			return newSender(ctx, srv.at(i), of.dialect, i, until)
		})
	})
}

// sender sends "echo" and checks that it comes back.
type sender struct {
	c   *conn
	d   *dialect
	ids ids
	q   call
	m   message
}

func newSender(ctx context.Context, addr string, d *dialect, i int, until time.Time) (worker, error) {
	c, err := dial(ctx, addr, wide, until)
	if err != nil {
		return nil, err
	}
	return &sender{c: c, d: d, ids: newIDs(i)}, nil
}

func (s *sender) do(_ context.Context, n int) (int, error) {
	id := s.ids.next()
	s.m.text = "echo " + id
	s.d.sending(&s.q, id, &s.m)
	answer, err := s.c.do(&s.q)
	if err != nil {
		return 0, err
	}
	return 1, s.d.completedWith(answer, id, id, n%thorough == 0)
}

func (s *sender) close() { s.c.close() }

// thorough is how many answers share one that is decoded in full. All of them
// are checked.
const thorough = 256

// ids are unique, over all processes.
type ids struct {
	prefix string
	n      int
}

func newIDs(worker int) ids {
	return ids{prefix: rand.Text()[:12] + "-" + strconv.Itoa(worker) + "-"}
}

func (i *ids) next() string {
	i.n++
	return i.last()
}

func (i *ids) last() string { return i.prefix + strconv.Itoa(i.n) }
