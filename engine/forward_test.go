package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// pair are two processes that share a store: tasks are at work in the first.
func pair(t testing.TB, ag agent.Agent) (here, there *world) {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	return newWorldWith(t, st, ag, testCard(), shared(t)), newWorldWith(t, st, ag, testCard(), shared(t))
}

// busy works for a second and asks what to do next, until it is told to stop.
var busy = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	for n := 1; ; n++ {
		if err := t.Status(fmt.Sprint("at work ", n)); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		m, err := t.Ask(ctx, "and now?")
		if err != nil {
			return err
		}
		if err := t.Artifact("heard").Last(m.Parts...); err != nil {
			return err
		}
		if m.Text() == "stop" {
			return t.Complete("stopped")
		}
	}
})

// A message for a task that is at work in another process reaches its agent at
// once, and so does a cancel.
func TestPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := pair(t, waiting)
		task := here.mustSend(sendNow("x"))
		begun := time.Now()
		req := reply(task, "more")
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		wantUsers(t, there.mustSend(req), "x", "more")
		canceled, err := there.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, canceled, a2a.TaskStateCanceled)
		sameTask(t, here.mustGet(task.ID), canceled)
		if took := time.Since(begun); took > 0 {
			t.Errorf("it took %v", took)
		}
		_, err = there.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil {
			t.Errorf("once more: %v", err)
		}
		here.stop()
		there.stop()
	})
}

// A process that is asked before it has said that it is there keeps what it takes.
func TestAskedBeforeItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		other := newWorldWith(t, st, waiting, testCard(), shared(t))
		synctest.Wait()
		early := New(st, waiting, testCard(), shared(t))
		resp, err := early.SendMessage(t.Context(), sendNow("x"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second) // others have looked for tasks of processes that are gone
		if r := row(t, st, resp.Task.ID); r.Node != early.node || r.Lost != 0 {
			t.Errorf("the row is %+v", r)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := early.Run(ctx); err != nil {
			t.Error(err)
		}
		other.stop()
	})
}

// Forwarding a message does not read the log, which may be long: it is read once, for the
// answer, and not at all for a refusal.
func TestForwardingReadsNoLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		here := newWorldWith(t, st, waiting, testCard(), shared(t))
		spy := &spied{Store: st}
		there := newWorldWith(t, spy, waiting, testCard(), shared(t))
		task := here.mustSend(sendNow("x"))
		synctest.Wait()
		spy.reset()
		other := reply(task, "of another context")
		other.Message.ContextID = "other"
		if _, err := there.SendMessage(t.Context(), other); !errors.Is(err, a2a.ErrInvalidParams) || spy.entries.Load() != 0 {
			t.Errorf("%v, after %d reads of the log", err, spy.entries.Load())
		}
		req := reply(task, "more")
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		wantUsers(t, there.mustSend(req), "x", "more")
		if n := spy.entries.Load(); n != 1 {
			t.Errorf("%d reads of the log", n)
		}
		here.stop()
		there.stop()
	})
}
