package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// lateLook is a store that calls a hook between the first reading of what is
// live and its answer.
type lateLook struct {
	store.Store
	once sync.Once
	hook func()
}

func (l *lateLook) LivePushes(ctx context.Context, node string, after int64, limit int) ([]store.PushState, error) {
	page, err := l.Store.LivePushes(ctx, node, after, limit)
	l.once.Do(l.hook)
	return page, err
}

// What a task says while the outbox gets to know of its webhook is not left for
// the next look, which is minutes away; nor is what failed meanwhile.
func TestPushNewsDuringALook(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := store.NewMemory()
			r := &receivers{}
			begin := make(chan struct{})
			ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
				if err := t.Status("begun"); err != nil {
					return err
				}
				select {
				case <-begin:
					return t.Status("over")
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			dies := &mortal{Store: m}
			w := pushWorld(t, dies, ag, r)
			task := w.mustSend(sendNow("go"))
			_, err := w.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: "h"})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			dies.dead.Store(true)
			w.stop()
			m = m.Reopen()
			defer m.Close()
			failed := !fails
			r.answer = func(*a2a.Notification) a2a.Outcome {
				if !failed {
					failed = true
					return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "500"}
				}
				return a2a.Outcome{}
			}
			st := &lateLook{Store: m, hook: func() {
				close(begin)
				time.Sleep(time.Second) // the task ends
			}}
			w = pushWorld(t, st, ag, r)
			time.Sleep(time.Minute)
			p, err := m.Push(t.Context(), store.PushID{Key: store.Key{ID: task.ID}, ID: "a"})
			rec, recErr := m.Get(t.Context(), store.Key{ID: task.ID}, false)
			if err != nil || recErr != nil || p.Live || p.Cursor != rec.Last {
				t.Errorf("fails %v: %+v of %d, %v, %v", fails, p, rec.Last, err, recErr)
			}
			w.stop()
		})
	}
}

// Whoever tells the outbox how far a log goes may know less than the log has:
// what failed beyond is tried again all the same.
func TestPushFailsBeyondWhatWasKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		defer m.Close()
		r := &receivers{}
		begin := make(chan struct{})
		close(begin)
		w := pushWorld(t, m, countedTo(5, begin), r)
		task := w.mustSend(send("go"))
		rec, err := m.Get(t.Context(), store.Key{ID: task.ID}, false)
		if err != nil {
			t.Fatal(err)
		}
		p, err := w.newPush(t.Context(), "", &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: "h"})
		if err != nil {
			t.Fatal(err)
		}
		p.Key, p.Cursor, p.Live = store.Key{ID: task.ID}, 2, true
		if err := m.SetPush(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		failed := map[int64]bool{}
		r.answer = func(n *a2a.Notification) a2a.Outcome {
			if !failed[n.Seq] {
				failed[n.Seq] = true
				return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "500"}
			}
			return a2a.Outcome{}
		}
		w.outbox.watch(p, 3)
		time.Sleep(2 * time.Minute)
		if p, err = m.Push(t.Context(), p.PushID()); err != nil || p.Cursor != rec.Last {
			t.Errorf("%+v of %d, %v", p, rec.Last, err)
		}
		w.stop()
	})
}
