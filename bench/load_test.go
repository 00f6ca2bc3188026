package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a worker whose calls take some time.
type slow struct {
	takes  time.Duration
	fails  int // the call that does; zero: no call
	closed *atomic.Int32
}

func (s *slow) do(ctx context.Context, n int) (int, error) {
	if s.fails > 0 && n == s.fails {
		return 0, errors.New("a wrong answer")
	}
	return 2, pause(ctx, s.takes)
}

func (s *slow) close() { s.closed.Add(1) }

func loadOf(workers int, takes time.Duration, fails int, closed *atomic.Int32) *load {
	return &load{workers: workers, warm: 100 * time.Millisecond, last: time.Second, open: func(context.Context, int, time.Time) (worker, error) {
		return &slow{takes, fails, closed}, nil
	}}
}

var nobody = &server{of: &contender{name: "nobody"}}

func TestLoadCountsWhatEndsInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		// 7 ms do not divide the times, so no call ends with them.
		got, err := loadOf(4, 7*time.Millisecond, 0, &closed).run(t.Context(), nobody)
		if err != nil {
			t.Fatal(err)
		}
		// Calls 15 to 157 of each end after 100 ms and before 1,100 ms.
		if got.calls != 4*143 || got.done != 8*143 || got.elapsed != time.Second || got.perSecond() != 8*143 {
			t.Errorf("%d calls, %d done in %v", got.calls, got.done, got.elapsed)
		}
		if got.quantile(0.5) != 7 || got.quantile(1) != 7 {
			t.Errorf("delays of %v and %v ms", got.quantile(0.5), got.quantile(1))
		}
		if closed.Load() != 4 {
			t.Errorf("%d connections closed", closed.Load())
		}
	})
}

// With -keep a server is started and warmed up once, and every round is a load on it.
func TestServersAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{plan: &plan{keep: true}}
		began, loads := time.Now(), 0
		var closed atomic.Int32
		var first *server
		x, err := b.underLoad(t.Context(), &contender{addr: "127.0.0.1:1"}, func(srv *server) *load {
			if loads++; first == nil {
				first = srv
			} else if srv != first {
				t.Error("another server")
			}
			return loadOf(2, 7*time.Millisecond, 0, &closed)
		})
		if err != nil || loads != 1 || time.Since(began) < 2*time.Second {
			t.Fatalf("%d loads in %v, %v", loads, time.Since(began), err)
		}
		for range 3 {
			if f, err := x.measure(t.Context()); err != nil || f.Main != 4*143 {
				t.Errorf("%+v, %v", f, err)
			}
		}
		if loads != 4 {
			t.Errorf("%d loads", loads)
		}
		x.close()
	})
}

func TestLoadWaitsForACallOfEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		got, err := loadOf(3, 5*time.Second, 0, &closed).run(t.Context(), nobody)
		if err != nil || got.calls != 3 || got.elapsed != 4900*time.Millisecond {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// stalling is a worker whose server hangs for a while at some time.
type stalling struct{ from, until time.Time }

func (s *stalling) do(ctx context.Context, _ int) (int, error) {
	if now := time.Now(); now.After(s.from) && now.Before(s.until) {
		return 1, pause(ctx, s.until.Sub(now))
	}
	return 1, pause(ctx, 10*time.Millisecond)
}

func (*stalling) close() {}

func TestAStallAtTheEndIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l := &load{workers: 2, warm: 100 * time.Millisecond, last: time.Second, open: func(context.Context, int, time.Time) (worker, error) {
			return &stalling{begin.Add(995 * time.Millisecond), begin.Add(3 * time.Second)}, nil
		}}
		got, err := l.run(t.Context(), nobody)
		if err != nil || got.worst < 1900*time.Millisecond || got.quantile(1) > 20 {
			t.Errorf("worst %v, of those that ended in time %v ms, %v", got.worst, got.quantile(1), err)
		}
	})
}

func TestLoadEndsWithTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int32
		began := time.Now()
		got, err := loadOf(4, 10*time.Millisecond, 3, &closed).run(t.Context(), nobody)
		if err == nil || !strings.Contains(err.Error(), "call 3: a wrong answer") {
			t.Errorf("%+v, %v", got, err)
		}
		if took := time.Since(began); took != 30*time.Millisecond || closed.Load() < 4 {
			t.Errorf("after %v, %d connections closed", took, closed.Load())
		}
	})
}
