package engine

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// listener notes the states of tasks that an Observer hears of.
type listener struct {
	states  chan a2a.TaskState
	deleted chan string
}

func (h listener) TaskChanged(r *store.Row) { h.states <- a2a.TaskState(r.State) }
func (h listener) TaskDeleted(r *store.Row) { h.deleted <- r.Key.ID }
func (h listener) Advanced([]store.Advance) {}

// Operators see what a task waits for, follow its log, and cannot delete it while it
// is at work.
func TestOperatorsSeeWhatATaskWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, goOn := store.NewMemory(), make(chan struct{})
		e := New(st, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
			if _, err := turn.Ask(ctx, "Which city?"); err != nil {
				return err
			}
			if err := turn.Status("looking"); err != nil {
				return err
			}
			<-goOn
			return turn.Reply("done")
		}), &a2a.AgentCard{Name: "x"}, &Options{Capacity: 1})
		h := listener{make(chan a2a.TaskState, 10), make(chan string, 1)}
		e.Observe(h)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Run(ctx) }()
		defer func() { cancel(); <-ended; st.Close() }()

		send := func(task *a2a.Task) *a2a.Task {
			m := &a2a.Message{MessageID: stored.NewID(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("x")}}
			if task != nil {
				m.TaskID = task.ID
			}
			resp, err := e.SendMessage(t.Context(), &a2a.SendMessageRequest{Message: m, Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true}})
			if err != nil {
				t.Fatal(err)
			}
			return resp.Task
		}
		task := send(nil)
		key := store.Key{ID: task.ID}
		wants := func(want Waits) {
			t.Helper()
			synctest.Wait()
			rec, err := st.Get(t.Context(), key, store.RowOnly)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := e.WaitOf(&rec.Row); got != want {
				t.Errorf("the task waits for %d, want %d", got, want)
			}
		}
		time.Sleep(time.Second)
		wants(WaitsForClient)
		next, stop := iter.Pull2(e.FollowLog(t.Context(), key, 0))
		defer stop()
		first, err, _ := next()
		if err != nil || first.Seq != 1 {
			t.Fatalf("the log begins with %d, %v", first.Seq, err)
		}
		send(task)
		time.Sleep(time.Second)
		wants(WaitsForAgent)
		if err := e.Delete(t.Context(), key); !errors.Is(err, ErrAtWork) {
			t.Errorf("deleted at work: %v", err)
		}
		other := send(nil)
		time.Sleep(time.Second)
		rec, err := st.Get(t.Context(), store.Key{ID: other.ID}, store.RowOnly)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := e.WaitOf(&rec.Row); got != WaitsForCapacity {
			t.Errorf("the second task waits for %d, want capacity", got)
		}
		close(goOn)
		last := int64(1)
		for {
			en, err, ok := next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if last++; en.Seq != last {
				t.Fatalf("entry %d, want %d", en.Seq, last)
			}
		}
		wants(WaitsForNothing)
		if whole, err := e.TaskAt(t.Context(), key, 0); err != nil || whole.Status.State != a2a.TaskStateCompleted {
			t.Errorf("it is %v, %v", whole, err)
		}
		if early, err := e.TaskAt(t.Context(), key, 1); err != nil || early.Status.State != a2a.TaskStateSubmitted {
			t.Errorf("it was %v, %v", early, err)
		}
		seen := map[a2a.TaskState]bool{}
		for len(h.states) > 0 {
			seen[<-h.states] = true
		}
		for _, s := range []a2a.TaskState{a2a.TaskStateSubmitted, a2a.TaskStateInputRequired, a2a.TaskStateWorking, a2a.TaskStateCompleted} {
			if !seen[s] && s != a2a.TaskStateSubmitted {
				t.Errorf("nobody heard of %s", s)
			}
		}
		if err := e.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
		if id := <-h.deleted; id != key.ID {
			t.Errorf("the task %s was told to be deleted", id)
		}
		if _, err := e.TaskAt(t.Context(), key, 0); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("the deleted task is %v", err)
		}
		if err := e.CancelFor(t.Context(), store.Key{ID: other.ID}, a2a.Caller{Subject: "op"}); err != nil {
			t.Errorf("cancel: %v", err)
		}
	})
}

// A task that an earlier process left is no process's if there is only one process, and another
// process's, as far as is known, if there are several.
func TestWhoHasATaskThatIsNotTakenUp(t *testing.T) {
	for dead, want := range map[time.Duration]Waits{0: WaitsForProcess, time.Minute: WaitsForOther} {
		st := store.NewMemory()
		defer st.Close()
		e := New(st, parrot, testCard(), &Options{DeadAfter: dead})
		if got, _ := e.WaitOf(&store.Row{Key: store.Key{ID: "x"}, Active: true, Node: "before"}); got != want {
			t.Errorf("it waits for %v, want %v", got, want)
		}
	}
}
