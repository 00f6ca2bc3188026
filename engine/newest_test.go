package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/task"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
)

// late is a store that says late the outcome of an append.
type late struct{ store.Store }

func (s late) Append(a *store.Append, done func(error)) {
	s.Store.Append(a, func(err error) { time.AfterFunc(time.Second, func() { done(err) }) })
}

// A caller that has seen a task's progress at one process does not see less at
// its owner, though the owner does not know yet that the entries are committed.
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

// A reader from the very beginning has the cursor of a new topic, which knows nothing yet: it
// gets the entries nevertheless.
func TestFollowElsewhereFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		one := newWorldWith(t, st, agent.Func(func(_ context.Context, t *agent.Turn) error { return t.Complete("done") }), testCard(), shared(t))
		two := newWorldWith(t, st, interview, testCard(), shared(t))
		task := one.mustSend(send("x"))
		synctest.Wait() // until its hints are gone
		at := two.topics.Join(store.Key{ID: task.ID})
		var last a2a.TaskState
		begun := time.Now()
		two.topics.Follow(t.Context(), at, topic.Position{}, topic.IsEnd, func(ev *a2a.StreamResponse, err error) bool {
			if err != nil {
				t.Fatal(err)
			}
			last = ev.State()
			return true
		})
		two.topics.Leave(at)
		if last != a2a.TaskStateCompleted || time.Since(begun) > 0 {
			t.Errorf("the last state is %v, after %v", last, time.Since(begun))
		}
		one.stop()
		two.stop()
	})
}

// An answer that comes again while the store has taken it, and the process does
// not know yet, waits for the turn that it began, not for the question before.
func TestAnswerAgainBeforeItIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		o := shared(t)
		o.Retries.Anonymous = true
		w := newWorldWith(t, late{st}, interview, testCard(), o)
		asked := w.mustSend(send("x"))
		wantState(t, asked, a2a.TaskStateInputRequired)
		req := reply(asked, "Ada")
		var first sync.WaitGroup
		first.Go(func() { w.mustSend(req) })
		time.Sleep(500 * time.Millisecond)
		rec, err := st.Get(t.Context(), store.Key{ID: asked.ID}, store.RowOnly)
		if err != nil || a2a.TaskState(rec.State) != a2a.TaskStateWorking {
			t.Fatal(rec, err)
		}
		tp := w.topics.Join(rec.Key)
		if _, err := w.awaitStop(t.Context(), accepted{topic: tp, seq: rec.Last, again: true, post: &task.Post{Message: req.Message}}); err != nil {
			t.Fatal(err)
		}
		if _, last := tp.Snapshot(); last <= rec.Last {
			t.Errorf("it waited for entry %d of %d", last, rec.Last)
		}
		w.topics.Leave(tp)
		first.Wait()
		w.stop()
	})
}
