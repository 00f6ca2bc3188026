package outbox

import (
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
)

// After a failover that took back the end of a log, the events that replace it are delivered
// under ids of their own, in whichever way the outbox learns of them.
func TestPushAfterAFailoverThatLostEvents(t *testing.T) {
	for name, tell := range map[string]func(*world, store.Key){
		"owner":  func(w *world, key store.Key) { w.News(key, 4) },
		"look":   func(w *world, _ store.Key) { w.LookSoon() },
		"nobody": func(*world, store.Key) {},
	} {
		t.Run(name, func(t *testing.T) {
			pushTest(t, func(t *testing.T, db *store.Memory, r *receivers) {
				w := newWorld(t, db, r)
				key := store.Key{ID: "x"}
				w.begin(t.Context(), key, a2a.TaskStateWorking, 3, &a2a.TaskPushNotificationConfig{ID: "c", URL: "h"})
				passes(time.Minute)
				p := w.push(store.PushID{Key: key, ID: "c"})
				if p.Cursor != 5 {
					t.Fatalf("%+v", p)
				}
				was, err := db.Get(t.Context(), key, store.RowOnly)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := db.Delete(t.Context(), []store.Row{was.Row}); n != 1 {
					t.Fatal(n, err)
				}
				log := outboxtest.Log(key, a2a.TaskStateWorking, 2)
				p.Cursor = 3
				log.Pushes = []store.PushConfig{*p}
				if err := store.Do(t.Context(), db, log); err != nil {
					t.Fatal(err)
				}
				tell(w, key)
				passes(2 * dueEvery)
				w.goOn(key, a2a.TaskStateCompleted)
				passes(time.Minute)
				if got, want := r.Seqs("c"), []int64{3, 4, 5, 4, 5}; !slices.Equal(got, want) {
					t.Errorf("delivered %v, want %v", got, want)
				}
				ids := map[string]bool{}
				for _, n := range r.All() {
					ids[n.ID] = true
				}
				if len(ids) != 5 {
					t.Errorf("5 events have %d ids", len(ids))
				}
				if p := w.push(p.PushID()); p.Live || p.Cursor != 5 {
					t.Errorf("%+v", p)
				}
				w.stop()
			})
		})
	}
}
