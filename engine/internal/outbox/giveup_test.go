package outbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
)

func TestPushGivesUpAtOnceAndGoesOn(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		id := fill(t, st, "x", "h", "1.0", 5)
		r.Answer = func(n *a2a.Notification) a2a.Outcome {
			if n.Seq == 4 || n.Seq == 7 { // the last one, too
				return outboxtest.Refused404
			}
			return a2a.Outcome{}
		}
		w := newWorld(t, st, r)
		passes(time.Minute)
		if got := r.Seqs("c"); !slices.Equal(got, []int64{3, 4, 5, 6, 7}) {
			t.Errorf("got %v", got)
		}
		if p := w.push(id); p.Live || p.Cursor != 7 {
			t.Errorf("%+v", p)
		}
		dead := w.letters()
		if len(dead) != 2 || dead[0].Seq != 4 || dead[1].Seq != 7 || dead[0].Tries != 1 || dead[0].Reason != outboxtest.Refused404.Reason || dead[0].PushID != id {
			t.Errorf("%+v", dead)
		}
		w.stop()
	})
}

func TestPushIsDisabled(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		id := fill(t, st, "x", "h", "1.0", 5)
		r.Answer = func(n *a2a.Notification) a2a.Outcome {
			if n.Seq == 4 {
				return outboxtest.Gone410
			}
			return a2a.Outcome{}
		}
		w := newWorld(t, st, r)
		passes(time.Hour)
		w.stop()
		w = newWorld(t, st, r) // it stays so
		passes(time.Hour)
		if got := r.Seqs("c"); !slices.Equal(got, []int64{3, 4}) {
			t.Errorf("got %v", got)
		}
		if p := w.push(id); p.Live || p.Cursor != 3 || p.Reason != outboxtest.Gone410.Reason {
			t.Errorf("%+v", p)
		}
		w.stop()
	})
}

// A receiver that wants no more when the last event comes is asked once, as at
// any other event.
func TestPushIsDisabledAtTheLastEvent(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		id := fill(t, st, "x", "h", "1.0", 3)
		r.Answer = func(n *a2a.Notification) a2a.Outcome {
			if n.Event.State().Terminal() && len(r.Seqs("c")) < 20 { // no loop is to go on for ever
				return outboxtest.Gone410
			}
			return a2a.Outcome{}
		}
		w := newWorld(t, st, r)
		passes(time.Hour)
		if got := r.Seqs("c"); !slices.Equal(got, []int64{3, 4, 5}) {
			t.Errorf("posted %v", got)
		}
		if p := w.push(id); p.Live || p.Reason != outboxtest.Gone410.Reason || p.Cursor != 4 {
			t.Errorf("%+v", p)
		}
		w.stop()
	})
}

func TestPushWaitsAsLongAsTheReceiverAsks(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		fill(t, st, "x", "h", "1.0", 1)
		after := time.Hour
		r.Answer = func(*a2a.Notification) a2a.Outcome {
			out := outboxtest.Failing429
			out.After = after
			after = 1000 * time.Hour // no longer than a day, for all that
			return out
		}
		begun := time.Now()
		w := newWorld(t, st, r)
		passes(72 * time.Hour)
		var at []time.Duration
		for _, g := range r.All() {
			at = append(at, g.At.Sub(begun))
		}
		if len(at) != 3 || at[1] < time.Hour || at[1] > time.Hour+time.Second || at[2] < 24*time.Hour || at[2] > 24*time.Hour+time.Second {
			t.Errorf("tried after %v", at)
		}
		if dead := w.letters(); len(dead) != 1 || dead[0].Tries != 3 || dead[0].Reason != outboxtest.Failing429.Reason {
			t.Errorf("%+v", dead)
		}
		w.stop()
	})
}

// An event is tried for a day. An event that has waited behind it for as long is tried once.
func TestPushGivesUpAfterADay(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		fill(t, st, "x", "h", "1.0", 4)
		r.Answer = func(*a2a.Notification) a2a.Outcome { return outboxtest.Failing5xx }
		w := newWorld(t, st, r)
		passes(23 * time.Hour)
		if dead := w.letters(); len(dead) != 0 {
			t.Errorf("given up after %v", dead)
		}
		passes(2 * time.Hour)
		dead := w.letters()
		if len(dead) != 4 {
			t.Fatalf("%+v", dead)
		}
		for i, l := range dead {
			if i > 0 && l.Tries != 1 || i == 0 && (l.Tries < 20 || l.Tries > 80) {
				t.Errorf("%+v", l)
			}
		}
		n := len(r.All())
		passes(24 * time.Hour)
		if len(r.All()) != n {
			t.Errorf("%d more attempts", len(r.All())-n)
		}
		w.stop()
	})
}

// Deliveries that wait for a dead host are each tried once, and are given up about a day after
// it died, even if there are many. Meanwhile they cost little.
func TestPushToADeadHost(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		const n = 1200
		for i := range n {
			fill(t, st, fmt.Sprint("dead", i), "dead", "1.0", 2)
		}
		r.Serve = timesOut
		w := newWorld(t, st, r)
		passes(time.Hour)
		if got := r.Count("dead"); got < 50 || got > 90 {
			t.Errorf("%d attempts in an hour", got)
		}
		before := time.Now()
		for i := range 20 {
			fill(t, st, fmt.Sprint("live", i), "live", "1.0", 2)
			w.LookSoon()
		}
		// As a process before would have left them.
		for r.Count("live") < 40 && time.Since(before) < time.Hour {
			passes(time.Second)
		}
		if took := time.Since(before); took > 5*time.Second {
			t.Errorf("others took %v", took)
		}
		passes(22 * time.Hour)
		if got := r.Count("dead"); got > 24*90 {
			t.Errorf("%d attempts in a day", got)
		}
		if dead := w.letters(); len(dead) != 0 {
			t.Errorf("%d given up too early", len(dead))
		}
		for began := time.Now(); len(w.letters()) < 2*n; passes(time.Minute) {
			if time.Since(began) > 24*time.Hour {
				t.Fatalf("%d of %d given up", len(w.letters()), 2*n)
			}
		}
		tried := map[string]bool{}
		for _, g := range r.All() {
			tried[fmt.Sprint(g.Config.TaskID, g.Seq)] = true
		}
		if len(tried) != 2*n+40 {
			t.Errorf("%d tried, want %d", len(tried), 2*n+40)
		}
		w.stop()
	})
}
