package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// Everything said before Sync returned outlives the process, steps too.
func TestSyncIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		gate := newGated()
		w, kill := newMortal(t, st, gate, nil)
		var task *a2a.Task
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			task = w.mustSend(sendNow("hello"))
		}()
		turn := <-gate.entered
		once := func(context.Context) (int, error) { return 7, nil }
		for range 3 { // nothing new to wait for is fine, too
			if err := turn.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := turn.Status("so far"); err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Step(t.Context(), turn, "once", once); err != nil {
			t.Fatal(err)
		}
		if err := turn.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries, err := st.Entries(t.Context(), store.Key{ID: turn.Task().ID}, 0, 100)
		if err != nil || len(entries) != 4 || a2a.EntryKind(entries[3].Kind) != a2a.EntryStep {
			t.Errorf("%d entries are stored (%v), want 4 and a step last", len(entries), err)
		}
		<-sent
		kill()

		w, kill = newMortal(t, st, gate, nil)
		defer kill()
		turn = <-gate.entered
		if n, err := agent.Step(t.Context(), turn, "once", func(context.Context) (int, error) { return 8, nil }); n != 7 || err != nil {
			t.Errorf("the step gives %d, %v after a crash, want 7", n, err)
		}
		gate.leave <- nil
		w.eventually(task.ID, a2a.TaskStateCompleted)
	})
}

// The words of an agent stay durable when its task has ended without it.
func TestSyncAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, leave := make(chan *agent.Turn, 1), make(chan struct{})
		w := newWorld(t, nil, agent.Func(func(_ context.Context, t *agent.Turn) error { // is deaf
			turns <- t
			<-leave
			return nil
		}))
		defer close(leave)
		go w.mustSend(sendNow("hello"))
		turn := <-turns
		if err := turn.Status("so far"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: turn.Task().ID}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until the owner has left
		if err := turn.Sync(t.Context()); err != nil {
			t.Errorf("Sync = %v", err)
		}
	})
}

// A store that does not write keeps it waiting, and the context ends that.
func TestSyncWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &stalled{Store: store.NewMemory(), hold: make(chan struct{})}
		defer st.Close()
		gate := newGated()
		w := newWorld(t, st, gate)
		go w.mustSend(sendNow("hello"))
		turn := <-gate.entered
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 2)
		go func() { done <- turn.Sync(ctx) }()
		synctest.Wait()
		if len(done) != 0 {
			t.Fatalf("Sync returned %v before the store did", <-done)
		}
		stop := errors.New("stop")
		cancel(stop)
		if err := <-done; err != stop {
			t.Errorf("Sync = %v, want the cause", err)
		}
		go func() { done <- turn.Sync(t.Context()) }()
		synctest.Wait()
		close(st.hold)
		if err := <-done; err != nil {
			t.Error(err)
		}
		gate.leave <- nil
	})
}

// stalled appends nothing until hold is closed.
type stalled struct {
	store.Store
	hold chan struct{}
}

func (s *stalled) Append(a *store.Append, done func(error)) {
	go func() {
		<-s.hold
		s.Store.Append(a, done)
	}()
}
