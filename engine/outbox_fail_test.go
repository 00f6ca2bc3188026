package engine

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// pushTest runs a test over finished tasks, with a store of its own.
func pushTest(t *testing.T, test func(t *testing.T, st *store.Memory, r *receivers)) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		test(t, st, &receivers{})
	})
}

func TestPushGivesUpAtOnceAndGoesOn(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		id := fill(t, st, "x", "h", "1.0", 5)
		r.answer = func(n *a2a.Notification) a2a.Outcome {
			if n.Seq == 4 || n.Seq == 7 { // the last one, too
				return refused404
			}
			return a2a.Outcome{}
		}
		w := pushWorld(t, st, parrot, r)
		passes(time.Minute)
		if got := r.seqs("c"); !slices.Equal(got, []int64{3, 4, 5, 6, 7}) {
			t.Errorf("got %v", got)
		}
		if p := w.push(id); p.Live || p.Cursor != 7 {
			t.Errorf("%+v", p)
		}
		dead := w.letters()
		if len(dead) != 2 || dead[0].Seq != 4 || dead[1].Seq != 7 || dead[0].Tries != 1 || dead[0].Reason != refused404.Reason || dead[0].PushID != id {
			t.Errorf("%+v", dead)
		}
		w.stop()
	})
}

func TestPushIsDisabled(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		id := fill(t, st, "x", "h", "1.0", 5)
		r.answer = func(n *a2a.Notification) a2a.Outcome {
			if n.Seq == 4 {
				return gone410
			}
			return a2a.Outcome{}
		}
		w := pushWorld(t, st, parrot, r)
		passes(time.Hour)
		w.stop()
		w = pushWorld(t, st, parrot, r) // it stays so
		passes(time.Hour)
		if got := r.seqs("c"); !slices.Equal(got, []int64{3, 4}) {
			t.Errorf("got %v", got)
		}
		if p := w.push(id); p.Live || p.Cursor != 3 || p.Reason != gone410.Reason {
			t.Errorf("%+v", p)
		}
		w.stop()
	})
}

func TestPushWaitsAsLongAsTheReceiverAsks(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		fill(t, st, "x", "h", "1.0", 1)
		after := time.Hour
		r.answer = func(*a2a.Notification) a2a.Outcome {
			out := failing429
			out.After = after
			after = 1000 * time.Hour // no longer than a day, for all that
			return out
		}
		begun := time.Now()
		w := pushWorld(t, st, parrot, r)
		passes(72 * time.Hour)
		var at []time.Duration
		for _, a := range r.at {
			at = append(at, a.Sub(begun))
		}
		if len(at) != 3 || at[1] < time.Hour || at[1] > time.Hour+time.Second || at[2] < 24*time.Hour || at[2] > 24*time.Hour+time.Second {
			t.Errorf("tried after %v", at)
		}
		if dead := w.letters(); len(dead) != 1 || dead[0].Tries != 3 || dead[0].Reason != failing429.Reason {
			t.Errorf("%+v", dead)
		}
		w.stop()
	})
}

// An event is tried for a day. What waited behind it as long is tried once.
func TestPushGivesUpAfterADay(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		fill(t, st, "x", "h", "1.0", 4)
		r.answer = func(*a2a.Notification) a2a.Outcome { return failing5xx }
		w := pushWorld(t, st, parrot, r)
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
		n := len(r.all())
		passes(24 * time.Hour)
		if len(r.all()) != n {
			t.Errorf("%d more attempts", len(r.all())-n)
		}
		w.stop()
	})
}

// Those that wait behind a dead host are each tried once, and are given up about
// a day after it died, however many they are. Meanwhile it costs little.
func TestPushToADeadHost(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		const n = 1200
		for i := range n {
			fill(t, st, fmt.Sprint("dead", i), "dead", "1.0", 2)
		}
		r.serve = timesOut
		w := pushWorld(t, st, parrot, r)
		passes(time.Hour)
		if got := r.count("dead"); got < 50 || got > 90 {
			t.Errorf("%d attempts in an hour", got)
		}
		before := time.Now()
		for i := range 20 {
			fill(t, st, fmt.Sprint("live", i), "live", "1.0", 2)
			w.outbox.lookSoon()
		}
		// As a process before would have left them.
		for r.count("live") < 40 && time.Since(before) < time.Hour {
			passes(time.Second)
		}
		if took := time.Since(before); took > 5*time.Second {
			t.Errorf("others took %v", took)
		}
		passes(22 * time.Hour)
		if got := r.count("dead"); got > 24*90 {
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
		for _, g := range r.all() {
			tried[fmt.Sprint(g.Config.TaskID, g.Seq)] = true
		}
		if len(tried) != 2*n+40 {
			t.Errorf("%d tried, want %d", len(tried), 2*n+40)
		}
		w.stop()
	})
}
