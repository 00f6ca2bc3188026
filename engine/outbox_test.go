package engine

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

type receivers = outboxtest.Receivers

// passes lets time pass, and all that it brings happen, so that what receivers
// keep can be read.
func passes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) push(id store.PushID) *store.PushConfig {
	w.t.Helper()
	p, err := w.st.Push(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func pushCard() *a2a.AgentCard {
	card := testCard()
	card.Capabilities.PushNotifications = new(true)
	return card
}

func pushWorld(t testing.TB, st store.Store, ag agent.Agent, r *receivers) *world {
	return newWorldWith(t, st, ag, pushCard(), &Options{Push: r})
}

// counted writes n chunks when it is told to, and ends.
func countedTo(n int, begin <-chan struct{}) agent.Agent {
	return agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Status("begun"); err != nil {
			return err
		}
		<-begin
		w := t.Artifact("out")
		for i := range n {
			fmt.Fprintf(w, "chunk %d\n", i)
		}
		return w.Close()
	})
}

func TestPushDeliversInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receivers{}
		begin := make(chan struct{})
		w := pushWorld(t, nil, countedTo(5, begin), r)
		task := w.mustSend(sendNow("go"))
		for _, id := range []string{"a", "b"} {
			_, err := w.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: id, URL: "h"})
			if err != nil {
				t.Fatal(err)
			}
		}
		close(begin)
		synctest.Wait()
		passes(time.Minute)
		entries, err := w.st.Entries(t.Context(), store.Key{ID: task.ID}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, en := range entries {
			if k := a2a.EntryKind(en.Kind); k == a2a.EntryArtifact || k == a2a.EntryStatus && en.Seq > 3 {
				want = append(want, en.Seq)
			}
		}
		for _, id := range []string{"a", "b"} {
			if got := r.Seqs(id); !slices.Equal(got, want) {
				t.Errorf("%s got %v, want %v", id, got, want)
			}
			p, err := w.st.Push(t.Context(), store.PushID{Key: store.Key{ID: task.ID}, ID: id})
			if err != nil || p.Live || p.Cursor != want[len(want)-1] {
				t.Errorf("%+v, %v", p, err)
			}
		}
	})
}

func TestPushIsTriedAgainAcrossARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := store.NewMemory()
		fails := true
		r := &receivers{}
		r.Answer = func(*a2a.Notification) a2a.Outcome {
			if fails {
				return a2a.Outcome{Verdict: a2a.DeliverAgain, Reason: "500", Down: true}
			}
			return a2a.Outcome{}
		}
		begin := make(chan struct{})
		w := pushWorld(t, m, countedTo(3, begin), r)
		task := w.mustSend(sendNow("go"))
		_, err := w.CreateTaskPushNotificationConfig(t.Context(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: "h"})
		if err != nil {
			t.Fatal(err)
		}
		close(begin)
		passes(time.Hour)
		first := len(r.Seqs("a"))
		if first < 3 || first > 40 {
			t.Errorf("%d attempts in an hour", first)
		}
		if n := slices.Compact(r.Seqs("a")); len(n) != 1 {
			t.Errorf("went on behind what failed: %v", n)
		}
		w.stop()
		m = m.Reopen()
		defer m.Close()
		fails = false
		w = pushWorld(t, m, countedTo(3, begin), r)
		passes(3 * time.Hour)
		if got := slices.Compact(r.Seqs("a")); len(got) != 5 || !slices.IsSorted(got) {
			t.Errorf("got %v", got)
		}
		ids := map[int64]string{}
		for _, n := range r.All() {
			if was, ok := ids[n.Seq]; ok && was != n.ID {
				t.Errorf("seq %d was %s and %s", n.Seq, was, n.ID)
			}
			ids[n.Seq] = n.ID
		}
		w.stop()
	})
}

// Two that create under one name at once leave one, and that is served.
func TestPushCreatedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		r := &receivers{}
		begin := make(chan struct{})
		w := pushWorld(t, st, countedTo(3, begin), r)
		task := w.mustSend(sendNow("go"))
		done := make(chan error)
		for range 20 {
			go func() {
				_, err := w.CreateTaskPushNotificationConfig(context.Background(), &a2a.TaskPushNotificationConfig{TaskID: task.ID, ID: "a", URL: stored.NewID()})
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
		rec, _ := st.Get(t.Context(), p.Key, store.RowOnly)
		if p.Live || p.Cursor != rec.Last {
			t.Errorf("%+v, the log goes to %d", p, rec.Last)
		}
		w.stop()
	})
}

// Webhooks of a task that waited for its client leave memory when the task is deleted.
func TestDeletedTasksAreNotWatched(t *testing.T) {
	for _, by := range []string{"retention", "operator"} {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r receivers
				w := newWorldWith(t, nil, agent.Func(interview), pushCard(), &Options{Push: &r, Retention: Retention{Waiting: time.Hour}})
				for range 3 {
					req := send("ask")
					req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "h"}}
					task := w.mustSend(req)
					passes(time.Minute)
					if by == "operator" {
						if err := w.Delete(t.Context(), store.Key{ID: task.ID}); err != nil {
							t.Fatal(err)
						}
					}
				}
				passes(2 * time.Hour)
				if n := reflect.ValueOf(w.outbox).Elem().FieldByName("tasks").Len(); n > 0 {
					t.Errorf("%d tasks are watched", n)
				}
			})
		})
	}
}
