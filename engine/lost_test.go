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

// An agent's questions to its turn after the task was lost are answered, if
// only with the task's ids.
func TestTaskOfALostTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := store.NewMemory()
		defer mem.Close()
		tasks := make(chan *a2a.Task, 1)
		w := newWorld(t, &foreign{mem, 2}, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			<-ctx.Done()
			if errors.Is(context.Cause(ctx), agent.ErrEnded) {
				time.Sleep(time.Second)
				tasks <- t.Task()
			}
			return context.Cause(ctx)
		}))
		task := w.mustSend(sendNow("x"))
		_, err := w.SendMessage(t.Context(), reply(task, "y"))
		wantError(t, err, a2a.ErrUnavailable)
		if got := <-tasks; got == nil || got.ID != task.ID || got.ContextID != task.ContextID {
			t.Errorf("the turn's task is %+v", got)
		}
		w.stop()
	})
}

// A direct answer does not take the ids from the turn.
func TestTaskAfterAReply(t *testing.T) {
	ids := make(chan [2]string, 1)
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		before := t.Task().ID
		if err := t.Reply("x"); err != nil {
			return err
		}
		ids <- [2]string{before, t.Task().ID}
		return nil
	}))
	if _, err := w.SendMessage(t.Context(), send("x")); err != nil {
		t.Fatal(err)
	}
	if got := <-ids; got[0] == "" || got[0] != got[1] {
		t.Errorf("ids are %q", got)
	}
}

// Every run counts, also one that was lost before it said a word.
func TestAttemptCountsSilentRuns(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	for want := 1; want <= 3; want++ {
		g := newGated()
		w := newWorld(t, st, g)
		if want == 1 {
			go w.SendMessage(context.Background(), sendNow("x"))
		}
		turn := <-g.entered
		if want == 1 {
			w.eventuallyAny()
		}
		if got := turn.Attempt(); got != want {
			t.Errorf("attempt is %d, want %d", got, want)
		}
		w.stop()
	}
}

// eventuallyAny waits until the store holds a task.
func (w *world) eventuallyAny() {
	w.t.Helper()
	for {
		list, err := w.ListTasks(w.t.Context(), &a2a.ListTasksRequest{})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(list.Tasks) > 0 {
			return
		}
	}
}

// Losses before an answered question do not count for what comes after it.
func TestAnswerForgivesLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var task *a2a.Task
		for round := range 3 {
			entered := make(chan struct{}, 8)
			ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
				for range round {
					if _, err := t.Ask(ctx, "?"); err != nil {
						return err
					}
				}
				entered <- struct{}{}
				<-ctx.Done()
				return context.Cause(ctx)
			})
			asking := agent.Func(func(ctx context.Context, t *agent.Turn) error {
				for range round + 1 {
					if _, err := t.Ask(ctx, "?"); err != nil {
						return err
					}
				}
				return nil
			})
			for range 2 {
				w, kill := newMortal(t, st, ag, nil)
				if task == nil {
					task = w.mustSend(sendNow("x"))
				}
				<-entered
				kill()
			}
			w := newWorld(t, st, asking)
			w.eventually(task.ID, a2a.TaskStateInputRequired)
			w.stop()
			w = newWorld(t, st, ag)
			req := reply(task, "y")
			req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
			wantState(t, w.mustSend(req), a2a.TaskStateWorking)
			w.stop()
		}
	})
}
