package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

type slowClaim struct {
	store.Store
	reached, proceed chan struct{}
	claimed          chan struct{}
}

func (s *slowClaim) Claim(ctx context.Context, node string, dead time.Time, limit int) ([]store.Row, error) {
	s.reached <- struct{}{}
	<-s.proceed
	defer close(s.claimed)
	return s.Store.Claim(ctx, node, dead, limit)
}

func (s *slowClaim) Append(a *store.Append, done func(error)) {
	<-s.claimed
	s.Store.Append(a, done)
}

// A message that comes before the engine has claimed its task must not leave
// the task without an owner.
func TestMessageBeforeTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		g := newGated()
		w := newWorld(t, mem, g)
		go func() { <-g.entered }()
		task := w.mustSend(sendNow("x"))
		w.stop()

		st := &slowClaim{mem, make(chan struct{}), make(chan struct{}), make(chan struct{})}
		w = newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			m, err := t.Ask(ctx, "?")
			if err != nil {
				return err
			}
			time.Sleep(time.Second)
			return t.Artifact("a").Last(a2a.TextPart(m.Text()))
		}))
		<-st.reached
		answered := make(chan error, 1)
		go func() {
			_, err := w.SendMessage(t.Context(), reply(task, "y"))
			answered <- err
		}()
		synctest.Wait()
		st.proceed <- struct{}{}
		if err := <-answered; err != nil {
			t.Errorf("the message was refused: %v", err)
		}
		wantState(t, w.mustGet(task.ID), a2a.TaskStateCompleted)
		w.stop()
	})
}

// holding is a store that holds back the appends that end a task.
type holding struct {
	store.Store
	release chan struct{}
}

func (h *holding) Append(a *store.Append, done func(error)) {
	if a.Seal != nil {
		<-h.release
	}
	h.Store.Append(a, done)
}

// No caller is told of an end before it is committed, because a crash could undo it.
func TestEndIsNotToldBeforeItIsCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		st := &holding{mem, make(chan struct{})}
		g := newGated()
		w := newWorld(t, st, g)
		go func() { <-g.entered }()
		task := w.mustSend(sendNow("x"))
		g.leave <- nil
		synctest.Wait() // the end is on its way to the disk
		errs := make(chan error, 2)
		go func() {
			_, err := w.SendMessage(t.Context(), reply(task, "y"))
			errs <- err
		}()
		go func() {
			_, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
			errs <- err
		}()
		synctest.Wait()
		select {
		case err := <-errs:
			t.Errorf("told before the end was committed: %v", err)
		default:
		}
		close(st.release)
		for range 2 {
			if err := <-errs; !errors.Is(err, a2a.ErrUnsupportedOperation) && !errors.Is(err, a2a.ErrTaskNotCancelable) {
				t.Error(err)
			}
		}
		w.stop()
	})
}
