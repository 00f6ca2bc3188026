package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// late is a store that says late what became of an append.
type late struct{ store.Store }

func (s late) Append(a *store.Append, done func(error)) {
	s.Store.Append(a, func(err error) { time.AfterFunc(time.Second, func() { done(err) }) })
}

// Who has seen at one process how far a task is does not see less at the one that
// works at it, though that does not know yet that it is committed.
func TestNobodySeesLessElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		goOn := make(chan struct{})
		one := newWorldWith(t, late{st}, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := t.Status("begun"); err != nil {
				return err
			}
			<-goOn
			return t.Complete("done")
		}), testCard(), shared(t))
		two := newWorldWith(t, st, interview, testCard(), shared(t))
		task := one.mustSend(sendNow("x"))
		time.Sleep(5 * time.Second)
		close(goOn)
		synctest.Wait()
		time.Sleep(500 * time.Millisecond)
		for i, w := range []*world{two, one, two, one} {
			got, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
			if err != nil || got.Status.State != a2a.TaskStateCompleted {
				t.Errorf("look %d: %v %v", i, got.Status.State, err)
			}
		}
		one.stop()
		two.stop()
	})
}
