package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how much longer than planned anything may take before it is an
// error.
const patience = 60 * time.Second

// worker is one of the connections of a load: it has one request under way at
// all times.
type worker interface {
	// do makes the n-th call and checks its answer. It returns how much was done
	// by it, in the scenario's units.
	do(ctx context.Context, n int) (done int, err error)
	// close ends the connection, also under a call. It may be called more than once.
	close()
}

// load is a closed loop over some connections.
type load struct {
	workers int
	warm    time.Duration // measured is what comes after it
	last    time.Duration
	open    func(ctx context.Context, i int, until time.Time) (worker, error)
}

// took is what a load came to: the calls that ended in elapsed.
type took struct {
	calls, done int
	elapsed     time.Duration
	delays      []time.Duration // of all calls, sorted
	worst       time.Duration   // of the calls that began in elapsed, those that ended later among them
	used        usage           // by the server
	own         usage           // by this process
	db          usage           // by the server's database
}

func (t *took) perSecond() float64 { return float64(t.done) / t.elapsed.Seconds() }

// busy is the share of its processors that the generator used. Close to one, the
// rate is the generator's and not the server's.
func (t *took) busy() float64 {
	return t.own.cpu.Seconds() / t.elapsed.Seconds() / float64(runtime.GOMAXPROCS(0))
}

// quantile of the delays, in milliseconds.
func (t *took) quantile(q float64) float64 {
	if len(t.delays) == 0 {
		return 0
	}
	return t.delays[min(len(t.delays)-1, int(q*float64(len(t.delays))))].Seconds() * 1000
}

// phases of a load.
const (
	warming = iota
	measuring
	ending
)

// run puts srv under load. The first error of any worker ends it.
func (l *load) run(ctx context.Context, srv *server) (*took, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	until := time.Now().Add(l.warm + l.last + patience)
	workers := make([]worker, l.workers)
	defer func() {
		for _, w := range workers {
			if w != nil {
				w.close()
			}
		}
	}()
	for i := range workers {
		w, err := l.open(ctx, i, until)
		if err != nil {
			return nil, fmt.Errorf("open connection %d: %w", i, err)
		}
		workers[i] = w
	}

	// Calls that wait for an answer end with ctx.
	defer context.AfterFunc(ctx, func() {
		for _, w := range workers {
			w.close()
		}
	})()

	var phase atomic.Int32
	var ended atomic.Int64 // calls that are measured
	enough := make(chan struct{})
	parts := make([]took, len(workers))
	var running sync.WaitGroup
	for i, w := range workers {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if phase.Load() == ending {
					return
				}
				at, began := phase.Load(), time.Now()
				done, err := w.do(ctx, n)
				if err != nil {
					cancel(fmt.Errorf("connection %d, call %d: %w", i, n, err))
					return
				}
				if at == measuring {
					parts[i].worst = max(parts[i].worst, time.Since(began))
				}
				if phase.Load() == measuring {
					if ended.Add(1) == int64(l.workers) {
						close(enough)
					}
					parts[i].calls++
					parts[i].done += done
					parts[i].delays = append(parts[i].delays, time.Since(began))
				}
			}
		})
	}
	err := pause(ctx, l.warm)
	var t took
	if err == nil {
		used, own, db := srv.usage(), ownUsage(), srv.database()
		began := time.Now()
		phase.Store(measuring)
		err = pause(ctx, l.last)
		// A slow scenario is measured for longer: a call of each connection.
		select {
		case <-enough:
		case <-ctx.Done():
		}
		phase.Store(ending)
		t.elapsed, t.used, t.own, t.db = time.Since(began), srv.usage().since(used), ownUsage().since(own), srv.database().since(db)
	}
	phase.Store(ending)
	running.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, srv.blame(cause)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		t.calls += p.calls
		t.done += p.done
		t.worst = max(t.worst, p.worst)
		t.delays = append(t.delays, p.delays...)
	}
	slices.Sort(t.delays)
	return &t, nil
}

// pause waits for d, or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
