package outbox

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
)

// timesOut is a receiver on which attempts time out if its host is a dead one.
func timesOut(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	if n.Config.URL[:4] != "dead" {
		return a2a.Outcome{}
	}
	<-ctx.Done()
	return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "the receiver did not answer in time", Down: true}
}

// Many dead hosts leave room for those that live.
func TestPushToManyDeadHosts(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		for h := range 200 {
			for i := range 8 {
				fill(t, st, fmt.Sprint("dead", h, "-", i), fmt.Sprint("dead", h), "1.0", 1)
			}
		}
		r.Serve = timesOut
		w := newWorld(t, st, r)
		passes(time.Hour)
		for range 20 {
			before, had := time.Now(), r.Count("live")
			fill(t, st, fmt.Sprint("live", had), "live", "1.0", 1)
			w.LookSoon()
			for r.Count("live") == had && time.Since(before) < time.Hour {
				passes(100 * time.Millisecond)
			}
			if took := time.Since(before); took > 3*time.Second {
				t.Errorf("took %v", took)
			}
			passes(time.Minute)
		}
		w.stop()
	})
}

// A host with a long queue has its share and no more, and never more than its
// bound at a time.
func TestPushIsFair(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		for i := range 900 {
			fill(t, st, fmt.Sprint("big", i), "big", "1.0", 3)
		}
		for h := range 20 {
			fill(t, st, fmt.Sprint("small", h), fmt.Sprint("small", h), "1.0", 3)
		}
		var now, most [2]atomic.Int64
		r.Serve = func(_ context.Context, n *a2a.Notification) a2a.Outcome {
			k := 0
			if n.Config.URL != "big" {
				k = 1
			}
			if v := now[k].Add(1); v > most[k].Load() {
				most[k].Store(v)
			}
			time.Sleep(time.Second)
			now[k].Add(-1)
			return a2a.Outcome{}
		}
		w := newWorld(t, st, r)
		passes(4 * time.Second)
		for h := range 20 {
			if n := r.Count(fmt.Sprint("small", h)); n != 3 {
				t.Errorf("host %d got %d", h, n)
			}
		}
		if most[0].Load() != 8 || most[1].Load() != 20 {
			t.Errorf("at most %d and %d at a time", most[0].Load(), most[1].Load())
		}
		passes(10 * time.Minute)
		if n := r.Count("big"); n != 2700 {
			t.Errorf("got %d", n)
		}
		w.stop()
	})
}

// Where a host serves some and fails others, those that it serves are not held
// up for long: neither by one that fails, nor by many.
func TestPushToAHostThatFailsForSome(t *testing.T) {
	for _, bad := range []int{1, 500} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				for i := range bad {
					fill(t, st, fmt.Sprint("bad", i), "h", "1.0", 1)
				}
				r.Answer = func(n *a2a.Notification) a2a.Outcome {
					if n.Config.TaskID[:3] == "bad" {
						return outboxtest.Failing5xx
					}
					return a2a.Outcome{}
				}
				w := newWorld(t, st, r)
				passes(time.Hour)
				var longest, all time.Duration
				for i := range 100 {
					id := fill(t, st, fmt.Sprint("good", i), "h", "1.0", 5)
					begun := time.Now()
					w.LookSoon()
					for w.push(id).Live && time.Since(begun) < time.Hour {
						passes(50 * time.Millisecond)
					}
					longest, all = max(longest, time.Since(begun)), all+time.Since(begun)
				}
				t.Logf("mean %v, longest %v", all/100, longest)
				if longest > 4*maxQuick+2*time.Second || bad == 1 && longest > 3*time.Second || all/100 > 10*time.Second {
					t.Errorf("mean %v, longest %v", all/100, longest)
				}
				w.stop()
			})
		})
	}
}

func TestCircuit(t *testing.T) {
	at := time.Unix(1e9, 0)
	h := &receiver{of: &subscriber{}}
	one := &delivery{}
	for range 100 {
		if h.report(one, true, at, at) || h.down() {
			t.Fatal("one that fails alone opened the circuit")
		}
	}
	h.report(one, false, at, at)
	for i := range maxFailures {
		if turned := h.report(&delivery{}, true, at, at); turned != (i == maxFailures-1) {
			t.Fatalf("%d: %v", i, turned)
		}
	}
	last := h.closedFor(at)
	if last < minClosed/2 || last > minClosed {
		t.Errorf("closed for %v", last)
	}
	if h.report(one, true, at, at); h.closedFor(at) != last {
		t.Error("an attempt that began before changed it")
	}
	for range 20 {
		at = h.closed
		h.report(&delivery{}, true, at, at)
	}
	if last = h.closedFor(at); last < maxQuick/2 || last > maxQuick {
		t.Errorf("closed for %v", last)
	}
	for range 20 {
		at = h.closed
		h.report(&delivery{}, true, at, at.Add(10*time.Second))
	}
	at = at.Add(10 * time.Second)
	if last = h.closedFor(at); last < maxClosed/2 || last > maxClosed {
		t.Errorf("closed for %v", last)
	}
	if !h.report(one, false, at, at) || h.down() || h.closedFor(at) > 0 {
		t.Error("one success does not close it")
	}
}
