package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/store"
)

// A task of version 0.1 may begin anew: then its webhooks of all versions go on, unless they
// were disabled.
func TestPushOfATaskThatBeginsAnew(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint(restart), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := store.NewMemory()
				defer st.Close()
				r := &receivers{Answer: func(n *a2a.Notification) a2a.Outcome {
					if n.Config.ID == "off" {
						return outboxtest.Gone410
					}
					return a2a.Outcome{}
				}}
				w := pushWorld(t, st, parrot, r)
				req := first01("mine", "one")
				req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "old"}}
				w.mustSend(req)
				passes(time.Minute)
				for _, id := range []string{"new", "off"} {
					c := &a2a.TaskPushNotificationConfig{TaskID: "mine", ID: id, URL: id}
					if _, err := w.CreateTaskPushNotificationConfig(t.Context(), c); err != nil {
						t.Fatal(err)
					}
				}
				if n := len(r.Seqs("mine")); n == 0 {
					t.Fatal("nothing came of the first turn")
				}
				for turn := range 3 {
					if restart {
						w.stop()
						w = pushWorld(t, st, parrot, r)
					}
					passes(time.Minute)
					old, is := len(r.Seqs("mine")), len(r.Seqs("new"))
					w.mustSend(first01("mine", fmt.Sprint("again ", turn)))
					passes(time.Minute)
					// submitted and completed; with the artifact for the new one
					if n := len(r.Seqs("mine")) - old; n != 2 {
						t.Errorf("turn %d: %d more to the old one", turn, n)
					}
					if n := len(r.Seqs("new")) - is; n != 3 {
						t.Errorf("turn %d: %d more to the new one", turn, n)
					}
				}
				if n := len(r.Seqs("off")); n != 1 {
					t.Errorf("%d to the disabled one", n)
				}
				w.stop()
			})
		})
	}
}

// Before 1.0 receivers get the Task as it was whenever its state changed.
func TestPushBefore10(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receivers{}
		st := store.NewMemory()
		defer st.Close()
		begin := make(chan struct{})
		close(begin)
		w := pushWorld(t, st, countedTo(5, begin), r)
		req := send("go")
		req.Legacy = &a2a.Legacy{Version: "0.3"}
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "h"}}
		task := w.mustSend(req)
		passes(time.Minute)
		var states []string
		for _, n := range r.All() {
			if n.Version != "0.3" || n.Task == nil || n.Task.ID != task.ID || n.Config.ID != task.ID {
				t.Errorf("%+v", n)
			}
			states = append(states, short(n.Task.Status.State))
			if n.Task.Status.State.Terminal() != (len(n.Task.Artifacts) > 0) {
				t.Errorf("%d artifacts in the task that is %s", len(n.Task.Artifacts), n.Task.Status.State)
			}
		}
		if got := fmt.Sprint(states); got != "[working completed]" {
			t.Errorf("got %s", got)
		}
		w.stop()
	})
}

// A repeated message does not create its webhook again, and a direct answer creates none.
func TestPushOfMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receivers{}
		st := store.NewMemory()
		defer st.Close()
		w := newWorldWith(t, st, everything, pushCard(), &Options{Push: r, Retries: Retries{Anonymous: true}})
		req := send("a b c")
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "h"}}
		task := w.mustSend(req)
		if again := w.mustSend(req); again.ID != task.ID {
			t.Error("the message began another task")
		}
		all, err := w.ListTaskPushNotificationConfigs(t.Context(), &a2a.ListTaskPushNotificationConfigsRequest{TaskID: task.ID})
		if err != nil || len(all.Configs) != 1 {
			t.Errorf("%+v, %v", all, err)
		}
		passes(time.Minute)
		seen := map[int64]int{}
		for _, n := range r.All() {
			seen[n.Seq]++
		}
		if len(seen) != 4 || len(r.All()) != 4 {
			t.Errorf("got %v", seen)
		}
		w.stop()
	})
}

// beginsAnew returns a process in which a task with a webhook has ended and begins anew,
// and how many deliveries there were before.
func beginsAnew(t *testing.T, st store.Store) (w *world, r *receivers, before int) {
	t.Helper()
	r = &receivers{}
	w = pushWorld(t, st, parrot, r)
	req := first01("mine", "one")
	req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "old"}}
	w.mustSend(req)
	passes(time.Minute)
	before = len(r.Seqs("mine"))
	w.mustSend(first01("mine", "again"))
	return w, r, before
}

// endsLate is a store in which a task begins anew while it is noted that its webhooks
// have nothing more to deliver: between the look at them and the append. The first look
// fails.
type endsLate struct {
	store.Store
	ending atomic.Bool   // that is about to be noted
	failed atomic.Bool   // the first look
	looked chan struct{} // closed by the second one
}

func (s *endsLate) Advance(ctx context.Context, all []store.Advance) error {
	if !all[0].Live && !s.failed.Load() {
		s.ending.Store(true)
		<-s.looked
	}
	return s.Store.Advance(ctx, all)
}

func (s *endsLate) Pushes(ctx context.Context, k store.Key, after string, limit int) ([]store.PushConfig, error) {
	if s.ending.Load() && s.failed.CompareAndSwap(false, true) {
		return nil, errors.New("the first look")
	}
	all, err := s.Store.Pushes(ctx, k, after, limit)
	if s.failed.Load() && s.ending.CompareAndSwap(true, false) {
		close(s.looked)
		time.Sleep(time.Second)
	}
	return all, err
}

// A webhook that ends while its task begins anew goes on, and so it does if the store
// fails for a moment.
func TestPushThatEndsWhileItsTaskBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &endsLate{Store: store.NewMemory(), looked: make(chan struct{})}
		defer st.Close()
		w, r, before := beginsAnew(t, st)
		defer w.stop()
		passes(time.Minute)
		if n := len(r.Seqs("mine")) - before; before == 0 || n != 2 { // submitted and completed
			t.Errorf("%d came in the first turn, and %d in the second", before, n)
		}
	})
}

// dropsPush is a store in which a client deletes a webhook just before an append.
type dropsPush struct {
	store.Store
	before atomic.Bool // the next append
}

func (s *dropsPush) Append(a *store.Append, done func(error)) {
	if s.before.CompareAndSwap(true, false) {
		if err := s.DropPush(context.Background(), store.PushID{Key: a.Row.Key, ID: a.Row.ID}); err != nil {
			done(err)
			return
		}
	}
	s.Store.Append(a, done)
}

// A webhook that is deleted while its task begins anew stays deleted.
func TestPushThatIsDeletedWhileItsTaskBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &dropsPush{Store: store.NewMemory()}
		defer st.Close()
		var r receivers
		w := pushWorld(t, st, parrot, &r)
		defer w.stop()
		req := first01("mine", "one")
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "h"}}
		w.mustSend(req)
		passes(time.Minute)
		before := len(r.Seqs("mine"))
		st.before.Store(true)
		w.mustSend(first01("mine", "two"))
		passes(10 * time.Minute)
		_, err := st.Push(t.Context(), store.PushID{Key: store.Key{ID: "mine"}, ID: "mine"})
		if n := len(r.Seqs("mine")) - before; before == 0 || n != 0 || !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%d came in the first turn, and %d in the second: %v", before, n, err)
		}
	})
}

// endsBehind is a store in which it is noted that a webhook has nothing more to deliver
// when its task has begun anew, and the look at the task that follows fails.
type endsBehind struct {
	store.Store
	began chan struct{} // closed when the task has begun anew
	state atomic.Int32  // 1: the end is being noted, 2: it is noted, 3: the look has failed
}

func (s *endsBehind) Advance(ctx context.Context, all []store.Advance) error {
	if all[0].Live || !s.state.CompareAndSwap(0, 1) {
		return s.Store.Advance(ctx, all)
	}
	<-s.began
	err := s.Store.Advance(ctx, all)
	s.state.Store(2)
	return err
}

func (s *endsBehind) Get(ctx context.Context, k store.Key, most int64) (*store.Record, error) {
	if s.state.CompareAndSwap(2, 3) {
		return nil, errors.New("the look behind the end")
	}
	return s.Store.Get(ctx, k, most)
}

// A webhook that was noted to have ended goes on with a task that has begun anew, also
// where the store fails between the two.
func TestPushThatEndsBehindItsTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &endsBehind{Store: store.NewMemory(), began: make(chan struct{})}
		defer st.Close()
		w, r, before := beginsAnew(t, st)
		defer w.stop()
		close(st.began)
		passes(10 * time.Minute)
		if n := len(r.Seqs("mine")) - before; before == 0 || n != 2 || st.state.Load() != 3 { // submitted and completed
			t.Errorf("%d came in the first turn, and %d in the second", before, n)
		}
	})
}

// A webhook that did not accept the end of a turn goes on with the next one.
func TestPushThatIsGivenUpBeforeItsTaskBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receivers{Answer: func(*a2a.Notification) a2a.Outcome { return outboxtest.Refused404 }}
		st := store.NewMemory()
		defer st.Close()
		w := pushWorld(t, st, parrot, r)
		defer w.stop()
		req := first01("mine", "one")
		req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "h"}}
		w.mustSend(req)
		passes(time.Minute)
		before := len(r.Seqs("mine"))
		w.mustSend(first01("mine", "two"))
		passes(time.Minute)
		if n := len(r.Seqs("mine")) - before; before == 0 || n != 2 { // submitted and completed
			t.Errorf("%d came in the first turn, and %d in the second", before, n)
		}
	})
}
