package outbox

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
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

// failsOnce is a receiver that fails the first attempt at each event, if it fails.
func failsOnce(fails bool) func(*a2a.Notification) a2a.Outcome {
	failed := map[int64]bool{}
	return func(n *a2a.Notification) a2a.Outcome {
		if !fails || failed[n.Seq] {
			return a2a.Outcome{}
		}
		failed[n.Seq] = true
		return outboxtest.Failing5xx
	}
}

// Events that come while the outbox learns of their webhook do not wait for the
// next look, which is minutes away; nor do failed deliveries.
func TestPushNewsDuringALook(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint(fails), func(t *testing.T) {
			pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
				key := store.Key{ID: "x"}
				before := newWorld(t, st, r)
				before.begin(t.Context(), key, a2a.TaskStateWorking, 1, &a2a.TaskPushNotificationConfig{ID: "c", URL: "h"})
				passes(time.Second)
				before.stop()
				r.Answer = failsOnce(fails)
				late := &lateLook{Store: st}
				var w *world
				known := make(chan struct{})
				late.hook = func() {
					<-known
					w.goOn(key, a2a.TaskStateCompleted)
					time.Sleep(time.Second)
				}
				w = newWorld(t, late, r)
				close(known)
				passes(time.Minute)
				if p := w.push(store.PushID{Key: key, ID: "c"}); p.Live || p.Cursor != 4 {
					t.Errorf("%+v", p)
				}
				w.stop()
			})
		})
	}
}

// The caller of News may know less of a log than it has: a failed delivery beyond that is tried
// again nevertheless.
func TestPushFailsBeyondWhatWasKnown(t *testing.T) {
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		r.Answer = failsOnce(true)
		w := newWorld(t, st, r)
		passes(time.Second) // the look at the start
		p, err := w.Record(t.Context(), &a2a.TaskPushNotificationConfig{ID: "c", URL: "h"})
		if err != nil {
			t.Fatal(err)
		}
		a := outboxtest.Log(store.Key{ID: "x"}, a2a.TaskStateCompleted, 5)
		p.Key, p.Cursor = a.Row.Key, 2
		a.Pushes = []store.PushConfig{*p}
		if err := store.Do(t.Context(), st, a); err != nil {
			t.Fatal(err)
		}
		w.Watch(p, 3)
		passes(2 * time.Minute)
		if p := w.push(p.PushID()); p.Cursor != 7 {
			t.Errorf("%+v", p)
		}
		w.stop()
	})
}
