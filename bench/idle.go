package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// idle is scenario (e): subscribers of a task at which nothing happens.
type idle struct{}

func (idle) about() about {
	return about{
		key: "e", title: "Subscribers of a task at which nothing happens", unit: "KB/subscriber", lessBetter: true, done: "subscriber and second",
		bars: []bar{against("5,000 subscribers", "bare", 1/1.3)},
	}
}

func (idle) cases(p *plan) []setting {
	n := 5000
	if p.short {
		n = 200
	}
	return []setting{{label: thousands(n) + " subscribers", conns: n, n: n}}
}

func (idle) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	return &idleBout{b: b, of: of, n: k.n}, nil
}

type idleBout struct {
	b  *bench
	of *contender
	n  int
}

func (i *idleBout) close() {}

func (i *idleBout) measure(ctx context.Context) (figures, error) {
	srv, err := i.of.start(ctx, i.b)
	if err != nil {
		return figures{}, err
	}
	defer srv.stop()
	// What a first subscriber costs is not counted: code that runs for the first
	// time, buffers that are shared.
	settle := max(i.b.plan.time, 500*time.Millisecond)
	until := time.Now().Add(i.b.plan.limit + 2*settle)
	id, err := begin(ctx, srv, "hold", until)
	if err != nil {
		return figures{}, srv.blame(err)
	}
	first := &audience{srv: srv, task: id, until: until}
	defer first.leave()
	if err := first.join(ctx, 10); err != nil {
		return figures{}, srv.blame(err)
	}
	if err := pause(ctx, settle); err != nil {
		return figures{}, err
	}
	before := srv.usage()
	if !before.known {
		return figures{}, lacks("its memory is not ours to read")
	}
	crowd := &audience{srv: srv, task: id, until: until}
	defer crowd.leave()
	if err := crowd.join(ctx, i.n); err != nil {
		return figures{}, srv.blame(err)
	}
	if err := pause(ctx, settle); err != nil {
		return figures{}, err
	}
	quiet := srv.usage()
	began := time.Now()
	if err := pause(ctx, settle); err != nil {
		return figures{}, err
	}
	after := srv.usage()
	seconds := time.Since(began).Seconds()
	if err := crowd.whole(); err != nil {
		return figures{}, srv.blame(err)
	}
	return figures{
		Main:   float64(after.memory-before.memory) / 1024 / float64(i.n),
		CPU:    after.since(quiet).per(i.n) / seconds,
		Memory: megabytes(after.memory), Calls: i.n,
	}, nil
}

// begin starts a task that goes on, and returns its id.
func begin(ctx context.Context, srv *server, text string, until time.Time) (string, error) {
	c, err := dial(ctx, srv.addr, wide, until)
	if err != nil {
		return "", err
	}
	defer c.close()
	var q call
	ids := newIDs(0)
	srv.of.dialect.sending(&q, ids.next(), &message{text: text, detached: true})
	answer, err := c.do(&q)
	if err != nil {
		return "", err
	}
	t, err := taskOf(answer)
	if err != nil {
		return "", err
	}
	return t.ID, nil
}

// audience are subscribers of one task, each over a connection of its own.
type audience struct {
	srv   *server
	task  string
	until time.Time
	each  func(i int, data []byte) error // of every event; nil ignores them

	conns   []*conn
	running sync.WaitGroup

	mu   sync.Mutex // protects the fields below
	left bool
	err  error // the first
}

// join brings n subscribers, and returns when the server has let all of them
// in: it has answered with the head of a stream.
func (a *audience) join(ctx context.Context, n int) error {
	const atOnce = 64 // as many as wait in a listener's queue without harm
	let := make(chan struct{}, atOnce)
	joined := make(chan struct{}, n)
	for i := range n {
		select {
		case let <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		c, err := dial(ctx, a.srv.addr, narrow, a.until)
		if err != nil {
			return fmt.Errorf("subscriber %d: %w", i, err)
		}
		a.conns = append(a.conns, c)
		a.running.Go(func() {
			ids := newIDs(i)
			var q call
			a.srv.of.dialect.subscribing(&q, ids.next(), a.task)
			in := false
			c.begun = func() { in = true; joined <- struct{}{}; <-let }
			err := c.events(&q, func(data []byte) error {
				if a.each == nil {
					return nil
				}
				return a.each(i, data)
			})
			if !in {
				<-let
			}
			a.ended(i, err)
			if !in {
				joined <- struct{}{}
			}
		})
	}
	for range n {
		select {
		case <-joined:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return a.whole()
}

// ended is called when a stream has, which is wrong before leave.
func (a *audience) ended(i int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left || a.err != nil {
		return
	}
	a.err = fmt.Errorf("the stream of subscriber %d ended: %w", i, errOr(err, "without an error"))
}

// whole says whether all subscribers are still there, or why not.
func (a *audience) whole() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// leave closes all connections and waits for their readers.
func (a *audience) leave() {
	a.mu.Lock()
	a.left = true
	a.mu.Unlock()
	for _, c := range a.conns {
		c.close()
	}
	a.running.Wait()
}
