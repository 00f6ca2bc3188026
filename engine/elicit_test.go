package engine

import (
	"context"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// Questions that were answered before a restart are not asked again, and the others stay
// open over it.
func TestQuestionsOverARestart(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	asks := agent.Func(func(ctx context.Context, tu *agent.Turn) error {
		got, err := tu.AskAll(ctx, agent.Question{ID: "a", Text: "a?"}, agent.Question{ID: "b", Text: "b?"})
		if err != nil {
			return err
		}
		return tu.Complete(got["a"].Text() + got["b"].Text())
	})
	answers := func(task *a2a.Task, text, id string) *a2a.SendMessageRequest {
		req := reply(task, text)
		req.Message.ElicitationIDs = []string{id}
		return req
	}
	states := func(w *world, id string) map[string]a2a.ElicitationState {
		task, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: id, TimelineLength: new(int32(0))})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]a2a.ElicitationState{}
		for _, e := range task.Elicitations {
			all[e.ElicitationID] = e.State
		}
		return all
	}
	w := newWorld(t, st, asks)
	task := w.mustSend(send("go"))
	task = w.mustSend(answers(task, "2", "b"))
	wantState(t, task, a2a.TaskStateInputRequired)
	w.stop()

	w = newWorld(t, st, asks)
	if got := states(w, task.ID); got["a"] != a2a.ElicitationBlocked || got["b"] != a2a.ElicitationResolved {
		t.Errorf("after the restart %v", got)
	}
	task = w.mustSend(answers(task, "1", "a"))
	wantState(t, task, a2a.TaskStateCompleted)
	if got := task.Status.Message.Text(); got != "12" {
		t.Errorf("the agent got %q", got)
	}
	if got := states(w, task.ID); got["a"] != a2a.ElicitationResolved || got["b"] != a2a.ElicitationResolved {
		t.Errorf("in the end %v", got)
	}
}
