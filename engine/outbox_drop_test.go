package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// held lets attempts go on until their time is over, or they are broken off, and
// then takes a while to notice. It counts those under way.
type heldAttempts struct {
	under  int
	broken int
}

func (h *heldAttempts) serve(ctx context.Context, n *a2a.Notification) a2a.Outcome {
	h.under++
	defer func() { h.under-- }()
	<-ctx.Done()
	passes(100 * time.Millisecond)
	if context.Cause(ctx) != context.DeadlineExceeded {
		h.broken++
	}
	return failing5xx
}

// However a configuration goes, the attempt at hand is broken off before the
// call returns, and there is no other.
func TestPushEndsWithItsConfig(t *testing.T) {
	ways := map[string]func(w *world, id store.PushID) error{
		"deleted": func(w *world, id store.PushID) error {
			return w.DeleteTaskPushNotificationConfig(context.Background(), &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: id.Key.ID, ID: id.ID})
		},
		"replaced": func(w *world, id store.PushID) error {
			_, err := w.CreateTaskPushNotificationConfig(context.Background(), &a2a.TaskPushNotificationConfig{TaskID: id.Key.ID, ID: id.ID, URL: "other"})
			return err
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				id := fill(t, st, "x", "h", "1.0", 3)
				var h heldAttempts
				r.serve = h.serve
				w := pushWorld(t, st, parrot, r)
				passes(time.Second)
				if h.under != 1 {
					t.Fatalf("%d attempts are under way", h.under)
				}
				if err := way(w, id); err != nil {
					t.Fatal(err)
				}
				if h.under != 0 || h.broken != 1 {
					t.Errorf("%d are under way, %d were broken off", h.under, h.broken)
				}
				for range 2 {
					passes(time.Hour)
					w.outbox.lookSoon()
				}
				if n := r.count("h"); n != 1 {
					t.Errorf("%d attempts", n)
				}
				if w.outbox.watched.Load() != 0 || len(w.outbox.tasks) != 0 || len(w.outbox.hosts) != 0 {
					t.Errorf("%d, %d, %d are left", w.outbox.watched.Load(), len(w.outbox.tasks), len(w.outbox.hosts))
				}
				w.stop()
			})
		})
	}
}

// A delivery of a task that is deleted ends quietly.
func TestPushEndsWithItsTask(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		id := fill(t, st, "x", "h", "0.3", 3)
		r.serve = func(context.Context, *a2a.Notification) a2a.Outcome {
			time.Sleep(5 * time.Second)
			return a2a.Outcome{}
		}
		w := pushWorld(t, st, parrot, r)
		passes(time.Second)
		rec, err := st.Get(t.Context(), id.Key, false)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := st.Delete(t.Context(), []store.Row{rec.Row}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		passes(time.Hour)
		if n := r.count("h"); n > 2 || w.outbox.watched.Load() != 0 {
			t.Errorf("%d attempts, %d watched", n, w.outbox.watched.Load())
		}
		w.stop()
	})
}

// The end of the process breaks attempts off, waits for them, and what they were
// to deliver comes again.
func TestPushDrains(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		id := fill(t, st, "x", "h", "1.0", 3)
		fill(t, st, "y", "h2", "1.0", 1)
		var h heldAttempts
		r.serve = func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
			if n.Config.URL == "h2" { // it has it, though the process ends
				<-ctx.Done()
				return a2a.Outcome{}
			}
			return h.serve(ctx, n)
		}
		w := pushWorld(t, st, parrot, r)
		passes(time.Second)
		begun := time.Now()
		w.stop()
		if took := time.Since(begun); took > 200*time.Millisecond {
			t.Errorf("the end took %v", took)
		}
		if h.under != 0 || h.broken != 1 {
			t.Errorf("%d are under way, %d were broken off", h.under, h.broken)
		}
		if p := w.push(id); p.Tries != 0 || !p.Live || p.Cursor != 2 {
			t.Errorf("the end counts as a failure: %+v", p)
		}
		first := r.all()[0].ID
		r.serve = nil
		w = pushWorld(t, st, parrot, r)
		passes(time.Minute)
		if got := r.count("h2"); got != 1 {
			t.Errorf("what was delivered at the end came %d times", got)
		}
		if got := r.count("h"); got != 4 || !slices.ContainsFunc(r.all()[1:], func(n *a2a.Notification) bool { return n.ID == first }) && r.all()[0].Config.URL == "h" {
			t.Errorf("%d attempts", got)
		}
		w.stop()
		synctest.Wait() // and nothing of it goes on, or the bubble does not end
	})
}

// Two that create under one name at once leave one, and that is served.
func TestPushCreatedAtOnce(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		begin := make(chan struct{})
		w := pushWorld(t, st, countedTo(3, begin), r)
		task := w.mustSend(sendNow("go"))
		done := make(chan error)
		for range 20 {
			go func() {
				_, err := w.CreateTaskPushNotificationConfig(context.Background(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: newID()})
				done <- err
			}()
		}
		close(begin)
		for range 20 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		passes(time.Hour)
		p := w.push(store.PushID{Key: store.Key{ID: task.ID}, ID: "a"})
		rec, _ := st.Get(t.Context(), p.Key, false)
		if p.Live || p.Cursor != rec.Last {
			t.Errorf("%+v, the log goes to %d", p, rec.Last)
		}
		w.stop()
	})
}
