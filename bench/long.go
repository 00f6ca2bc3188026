package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// long is scenario (d): one task with many chunks, streamed over one connection.
// Short ones are repeated, so that there is enough to measure.
type long struct{}

func (long) about() about {
	return about{
		key: "d", title: "One task with many chunks of 100 B", unit: "µs/chunk", lessBetter: true, done: "chunk",
		bars: []bar{against("1,000 chunks", "a2a-go", 50), compared("100,000 chunks", "1,000 chunks", 1/1.2)},
	}
}

func (long) cases(p *plan) []setting {
	var list []setting
	sizes := []int{100, 1000, 10_000, 100_000}
	if p.short {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		list = append(list, setting{label: thousands(n) + " chunks", conns: 1, n: n, turn: "sizes"})
	}
	return list
}

func (long) open(ctx context.Context, b *bench, of *contender, k setting) (bout, error) {
	return &longBout{b: b, of: of, n: k.n}, nil
}

type longBout struct {
	b  *bench
	of *contender
	n  int
}

func (l *longBout) close() {}

func (l *longBout) measure(ctx context.Context) (figures, error) {
	srv, err := l.of.start(ctx, l.b)
	if err != nil {
		return figures{}, err
	}
	defer srv.stop()
	limit := l.b.plan.limit
	until := time.Now().Add(limit)
	s, err := newStreamer(ctx, srv.addr, l.of.dialect, 0, l.n, until)
	if err != nil {
		return figures{}, err
	}
	defer s.close()
	stop := context.AfterFunc(ctx, func() { s.close() })
	defer stop()
	if l.n <= 1000 { // warm up, but not with what takes long
		warm, err := newStreamer(ctx, srv.addr, l.of.dialect, 1, 100, until)
		if err != nil {
			return figures{}, err
		}
		defer warm.close()
		for range 3 {
			if _, err := warm.do(ctx, 0); err != nil {
				return figures{}, srv.blame(err)
			}
		}
	}
	used := srv.usage()
	began := time.Now()
	tasks := 0
	var elapsed time.Duration // until the end of the last task
	for tasks == 0 || time.Since(began) < l.b.plan.time {
		_, err := s.do(ctx, tasks)
		if ctx.Err() != nil {
			return figures{}, context.Cause(ctx)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && tasks > 0 {
			break // the one that is cut off is not counted
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			elapsed = time.Since(began)
			// All of them would have taken longer than this.
			return figures{
				Main: perChunk(elapsed, l.n), Calls: 1,
				Over: fmt.Sprintf("%s of %s chunks after %v", thousands(s.seen), thousands(l.n), elapsed.Round(time.Second)),
			}, nil
		}
		if err != nil {
			return figures{}, srv.blame(err)
		}
		tasks++
		elapsed = time.Since(began)
	}
	now := srv.usage().since(used)
	chunks := tasks * l.n
	return figures{Main: perChunk(elapsed, chunks), CPU: now.per(chunks), Memory: megabytes(now.memory), Calls: tasks}, nil
}

func perChunk(d time.Duration, chunks int) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(chunks)
}
