package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/store"
)

// slowTaker is a store that fails to claim tasks, and takes a task that is asked for by name
// only at the second try.
type slowTaker struct {
	store.Store
	asked bool
}

var errDisk = errors.New("the disk is away")

func (*slowTaker) Claim(context.Context, string, time.Time, int) ([]store.Row, error) {
	return nil, errDisk
}

func (s *slowTaker) Take(ctx context.Context, node string, dead time.Time, k store.Key) (*store.Row, error) {
	if !s.asked {
		s.asked = true
		return nil, errDisk
	}
	return s.Store.Take(ctx, node, dead, k)
}

// A caller that acts on a task of a dead process, while the store cannot hand
// it over, is told to try again, as after any failed write, and then succeeds.
func TestTakeOverThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		g := newGated()
		w, kill := newMortal(t, mem, g, nil)
		sent := make(chan *a2a.Task)
		go func() { sent <- w.mustSend(sendNow("x")) }()
		<-g.entered
		task := <-sent
		kill()

		w = newWorldWith(t, &slowTaker{Store: mem}, g, testCard(), nil)
		_, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
		wantError(t, err, a2a.ErrUnavailable)
		if !errors.Is(err, errDisk) {
			t.Errorf("the log would not say why: %v", err)
		}
		got, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, got, a2a.TaskStateCanceled)
		w.stop()
	})
}
