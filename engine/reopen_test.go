package engine

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

func TestFinishedTaskBeginsAnew(t *testing.T) {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	w := newWorld(t, st, parrot)
	one := w.mustSend(first01("mine", "one"))
	again := first01("mine", "two")
	again.Message.MessageID = one.History[0].MessageID // clients use ids again
	two := w.mustSend(again)
	wantState(t, two, a2a.TaskStateCompleted)
	wantTexts(t, two.History, "one", "two")
	if two.ContextID != one.ContextID || two.Version != "0.1" {
		t.Errorf("got context %q, version %q", two.ContextID, two.Version)
	}
	if len(two.Artifacts) != 2 || two.Artifacts[0].Parts[0].Text != "one" || two.Artifacts[1].Parts[0].Text != "two" {
		t.Errorf("the artifacts are %s", two.AppendJSON(nil))
	}
	if two.Generation != one.Generation+4 {
		t.Errorf("generation %d after %d", two.Generation, one.Generation)
	}
	w.stop()
	w = newWorld(t, st, parrot) // from the seal
	evs, err := collect(w.SendStreamingMessage(t.Context(), first01("mine", "three")))
	if err != nil || brief(evs) != "task:submitted artifact:three. completed" {
		t.Errorf("got %s, %v", brief(evs), err)
	}
	for i := range evs[1:] {
		if g := generationOf(evs[i+1]); g != generationOf(evs[i])+1 {
			t.Errorf("generation %d after %d", g, generationOf(evs[i]))
		}
	}

	// A stream that the first end closed ends there when it is resumed.
	evs, err = collect(w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "mine", After: 1}))
	if err != nil || brief(evs) != "task:submitted artifact:one. completed" {
		t.Errorf("got %s, %v", brief(evs), err)
	}
	w.stop()
	checkState(t, st, map[string]a2a.TaskState{"mine": a2a.TaskStateCompleted})
}

func TestOnlyVersion01Reopens(t *testing.T) {
	w := newWorld(t, nil, parrot)
	for _, born := range []*a2a.Legacy{nil, {Version: "0.3"}} {
		req := send("x")
		req.Legacy = born
		task := w.mustSend(req)
		_, err := w.SendMessage(t.Context(), first01(task.ID, "again"))
		wantError(t, err, a2a.ErrUnsupportedOperation)
		sameTask(t, w.mustGet(task.ID), task)
	}
	task := w.mustSend(first01("mine", "x"))
	for _, version := range []*a2a.Legacy{nil, {Version: "0.3"}} {
		req := reply(task, "again")
		req.Legacy = version
		_, err := w.SendMessage(t.Context(), req)
		wantError(t, err, a2a.ErrUnsupportedOperation)
	}
}

// The agent that ended the task is not heard in the next turn, and does not
// keep it waiting.
func TestReopenWhileTheLastAgentLingers(t *testing.T) {
	lingers, heard := make(chan *agent.Turn, 1), make(chan error, 1)
	g := newGated()
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if t.Text() != "one" {
			return g.Run(ctx, t)
		}
		if err := t.Complete("done"); err != nil {
			return err
		}
		lingers <- t
		<-ctx.Done() // it learns that its time is over
		if err := t.Artifact("late").Last(a2a.TextPart("late")); !errors.Is(err, agent.ErrEnded) {
			heard <- err
		}
		heard <- t.Fail("late")
		return errors.New("late")
	}))
	w.mustSend(first01("mine", "one"))
	<-lingers
	done := make(chan *a2a.Task)
	go func() { done <- w.mustSend(first01("mine", "two")) }()
	<-g.entered
	if err := <-heard; !errors.Is(err, agent.ErrEnded) {
		t.Errorf("the last agent was told %v", err)
	}
	g.leave <- nil
	task := <-done
	wantState(t, task, a2a.TaskStateCompleted)
	wantTexts(t, task.History, "one", "done", "two")
	if len(task.Artifacts) > 0 {
		t.Errorf("artifacts %s", task.AppendJSON(nil))
	}
}

// A caller that waited for an end gets it, though the task has begun anew by
// then.
func TestEndThatWasReopened(t *testing.T) {
	g := newGated()
	w := newWorld(t, nil, g)
	go func() { <-g.entered }()
	req := first01("mine", "one")
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	w.mustSend(req)
	key := store.Key{ID: "mine"}
	sub := w.topics.Join(key)
	defer w.topics.Leave(sub)
	g.leave <- nil
	if _, err := w.topics.Await(t.Context(), sub, math.MaxInt64, a2a.TaskState.Terminal); err != nil {
		t.Fatal(err)
	}
	go func() { <-g.entered }()
	req = first01("mine", "two")
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	wantState(t, w.mustSend(req), a2a.TaskStateSubmitted)

	ended, err := w.topics.Await(t.Context(), sub, 2, a2a.TaskState.Terminal)
	if err != nil {
		t.Fatal(err)
	}
	task, _, err := w.topics.EndedAt(t.Context(), sub, ended)
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, task, a2a.TaskStateCompleted)
	wantTexts(t, task.History, "one")
	g.leave <- nil
	w.eventually("mine", a2a.TaskStateCompleted)
}

// A message that comes when the next turn has begun, but the owner of the last one is still
// there, belongs to the next turn.
func TestMessageBetweenTwoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated()
		w := newWorld(t, nil, g)
		now := func(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
			req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
			return req
		}
		go func() { <-g.entered }()
		w.mustSend(now(first01("mine", "one")))
		w.mustSend(now(first01("mine", "two"))) // which the agent does not take
		last, _, err := w.owners.Own(t.Context(), store.Key{ID: "mine"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		g.leave <- nil
		synctest.Wait()
		wantState(t, w.mustGet("mine"), a2a.TaskStateSubmitted)
		req := now(send("three"))
		req.Message.TaskID = "mine"
		sent := make(chan *a2a.Task, 1)
		go func() { sent <- w.mustSend(req) }()
		synctest.Wait()
		last.Release()
		go func() { <-g.entered }()
		synctest.Wait()
		select {
		case task := <-sent:
			wantTexts(t, task.History, "one", "two", "three")
		default:
			t.Error("the sender waits for the end of a turn that it is no part of")
		}
		g.leave <- nil
		w.eventually("mine", a2a.TaskStateCompleted)
		w.stop()
	})
}

func TestReopenAndCancel(t *testing.T) {
	g := newGated()
	w := newWorld(t, nil, g)
	now := func(text string) *a2a.SendMessageRequest {
		req := first01("mine", text)
		req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		return req
	}
	for _, text := range []string{"one", "two"} {
		w.mustSend(now(text))
		<-g.entered // not beside it: a cancellation that came first would leave who waits to the next turn
		task, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "mine"})
		if err != nil {
			t.Fatalf("cancel %s: %v", text, err)
		}
		wantState(t, task, a2a.TaskStateCanceled)
	}
	// A cancellation of an earlier turn is over.
	go func() { <-g.entered; g.leave <- nil }()
	wantState(t, w.mustSend(first01("mine", "three")), a2a.TaskStateCompleted)
	_, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "mine"})
	wantError(t, err, a2a.ErrTaskNotCancelable)
}

// A process that stops in a reopened turn leaves it to the next one: the same
// turn from the top, with the same ids of artifacts.
func TestReopenedTurnAcrossRestarts(t *testing.T) {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	type run struct {
		attempt int
		message string
	}
	runs := make(chan run, 10)
	ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		runs <- run{t.Attempt(), t.Text()}
		if err := t.Artifact("out").Last(a2a.TextPart(t.Text())); err != nil {
			return err
		}
		if t.Text() == "two" && t.Attempt() < 3 {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	})
	w := newWorld(t, st, ag)
	w.mustSend(first01("mine", "one"))
	req := first01("mine", "two")
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	w.mustSend(req)
	for i, want := range []run{{1, "one"}, {1, "two"}, {2, "two"}, {3, "two"}} {
		if got := <-runs; got != want {
			t.Fatalf("run %d is %+v, want %+v", i, got, want)
		}
		if i == 1 || i == 2 {
			w.stop()
			w = newWorld(t, st, ag)
		}
	}
	task := w.eventually("mine", a2a.TaskStateCompleted)
	if len(task.Artifacts) != 2 || task.Artifacts[0].Parts[0].Text != "one" {
		t.Errorf("the artifacts are %s", task.AppendJSON(nil))
	}
	w.stop()
	checkState(t, st, map[string]a2a.TaskState{"mine": a2a.TaskStateCompleted})
}

// Callers that wait for an end get the first one after their message, even if the task has
// ended again before they look: from the entries in memory, or from the log if memory no longer
// has them.
func TestFirstOfTwoEnds(t *testing.T) {
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	w := newWorld(t, st, parrot)
	one := w.mustSend(first01("mine", "one"))
	w.mustSend(first01("mine", "two"))
	wantFirst := func() {
		t.Helper()
		tp := w.topics.Join(store.Key{ID: "mine"})
		defer w.topics.Leave(tp)
		const message = 2 // behind the created entry
		ended, err := w.topics.Await(t.Context(), tp, message, a2a.TaskState.Terminal)
		if err != nil {
			t.Fatal(err)
		}
		task, _, err := w.topics.EndedAt(t.Context(), tp, ended)
		if err != nil {
			t.Fatal(err)
		}
		sameTask(t, task, one)
	}
	wantFirst()
	w.stop()
	w = newWorld(t, st, parrot)
	wantFirst()
}
