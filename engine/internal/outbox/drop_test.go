package outbox

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
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
	return outboxtest.Failing5xx
}

// However a configuration goes, the attempt at hand is broken off before the
// channel is closed, and there is no other.
func TestPushEndsWithItsConfig(t *testing.T) {
	ways := map[string]func(w *world, id store.PushID) (broken []<-chan struct{}, _ error){
		"deleted": func(w *world, id store.PushID) ([]<-chan struct{}, error) {
			err := w.st.DropPush(context.Background(), id)
			return w.Drop(id), err
		},
		"replaced": func(w *world, id store.PushID) ([]<-chan struct{}, error) {
			p, err := w.Record(context.Background(), &a2a.TaskPushNotificationConfig{ID: id.ID, URL: "other"})
			if err != nil {
				return nil, err
			}
			p.Key, p.Cursor, p.Live = id.Key, 5, false
			err = w.st.SetPush(context.Background(), p)
			return w.Watch(p, 5), err
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				id := fill(t, st, "x", "h", "1.0", 3)
				var h heldAttempts
				r.Serve = h.serve
				w := newWorld(t, st, r)
				passes(time.Second)
				if h.under != 1 {
					t.Fatalf("%d attempts are under way", h.under)
				}
				broken, err := way(w, id)
				if err != nil || len(broken) != 1 {
					t.Fatal(broken, err)
				}
				<-broken[0]
				if h.under != 0 || h.broken != 1 {
					t.Errorf("%d are under way, %d were broken off", h.under, h.broken)
				}
				for range 2 {
					passes(time.Hour)
					w.LookSoon()
				}
				if n := r.Count("h"); n != 1 {
					t.Errorf("%d attempts", n)
				}
				if w.watched.Load() != 0 || len(w.tasks) != 0 || len(w.subscribers) != 0 {
					t.Errorf("%d, %d, %d are left", w.watched.Load(), len(w.tasks), len(w.subscribers))
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
		r.Serve = func(context.Context, *a2a.Notification) a2a.Outcome {
			time.Sleep(5 * time.Second)
			return a2a.Outcome{}
		}
		w := newWorld(t, st, r)
		passes(time.Second)
		rec, err := st.Get(t.Context(), id.Key, store.RowOnly)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := st.Delete(t.Context(), []store.Row{rec.Row}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		passes(time.Hour)
		if n := r.Count("h"); n > 2 || w.watched.Load() != 0 {
			t.Errorf("%d attempts, %d watched", n, w.watched.Load())
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
		r.Serve = func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
			if n.Config.URL == "h2" { // it has it, though the process ends
				<-ctx.Done()
				return a2a.Outcome{}
			}
			return h.serve(ctx, n)
		}
		w := newWorld(t, st, r)
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
		first := r.All()[0].ID
		r.Serve = nil
		w = newWorld(t, st, r)
		passes(time.Minute)
		if got := r.Count("h2"); got != 1 {
			t.Errorf("what was delivered at the end came %d times", got)
		}
		if got := r.Count("h"); got != 4 || !slices.ContainsFunc(r.All()[1:], func(n outboxtest.Got) bool { return n.ID == first }) && r.All()[0].Config.URL == "h" {
			t.Errorf("%d attempts", got)
		}
		w.stop()
		synctest.Wait() // and nothing of it goes on, or the bubble does not end
	})
}

// A configuration is replaced, in this process or another one, while its dead letters are sent
// again: the former receiver gets nothing more, and the new one gets them.
func TestDeadLettersFollowTheirConfig(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprint(elsewhere), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				id, _ := deadWorld(t, st, r, "1.0")
				outboxtest.Again(t, st)
				r.Answer, r.Serve = nil, func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
					if n.Config.URL == "h" && n.Seq == 3 {
						select {
						case <-ctx.Done():
							return outboxtest.Failing5xx
						case <-time.After(time.Second):
						}
					}
					return a2a.Outcome{}
				}
				w := newWorld(t, st, r)
				passes(500 * time.Millisecond)
				p, err := w.Record(t.Context(), &a2a.TaskPushNotificationConfig{ID: id.ID, URL: "other"})
				if err != nil {
					t.Fatal(err)
				}
				p.Key, p.Cursor, p.Live = id.Key, 7, false
				if err := st.SetPush(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				if !elsewhere {
					for _, broken := range w.Watch(p, 7) {
						<-broken
					}
				}
				if n := r.Count("h"); n != 1 {
					t.Errorf("%d attempts at the former receiver", n)
				}
				passes(5 * time.Minute)
				if n := r.Count("h"); n != 1 {
					t.Errorf("%d attempts at the former receiver", n)
				}
				if n := len(w.Outbox.letters); n != 0 {
					t.Errorf("%d are held", n)
				}
				if left := w.letters(); len(left) != 0 {
					t.Errorf("%+v are left", left)
				}
				w.stop()
			})
		})
	}
}
