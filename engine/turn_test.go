package engine

import (
	"context"
	"errors"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// interview asks two questions and writes the answers down.
var interview = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	name, err := t.Ask(ctx, "Name?")
	if err != nil {
		return err
	}
	city, err := t.Ask(ctx, "City?")
	if err != nil {
		return err
	}
	return t.Artifact("form").Last(a2a.TextPart(name.Text() + " of " + city.Text()))
})

func TestAskAcrossMessages(t *testing.T) {
	w := newWorld(t, nil, interview)
	task := w.mustSend(send("go"))
	wantState(t, task, a2a.TaskStateInputRequired)
	if got := task.Status.Message.Text(); got != "Name?" {
		t.Errorf("question is %q", got)
	}
	evs, err := collect(w.SendStreamingMessage(t.Context(), reply(task, "Ada")))
	if err != nil || brief(evs) != "task:working input_required" {
		t.Fatalf("stream is %q, %v", brief(evs), err)
	}
	task = w.mustSend(reply(task, "London"))
	wantState(t, task, a2a.TaskStateCompleted)
	wantTexts(t, task.History, "go", "Name?", "Ada", "City?", "London")
	if got := task.Artifacts[0].Parts[0].Text; got != "Ada of London" {
		t.Errorf("artifact is %q", got)
	}
}

func TestAskAcrossRestarts(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, interview)
	task := w.mustSend(send("go"))
	w.stop()

	w = newWorld(t, st, interview)
	wantState(t, w.mustGet(task.ID), a2a.TaskStateInputRequired)
	task = w.mustSend(reply(task, "Ada"))
	wantState(t, task, a2a.TaskStateInputRequired)
	wantTexts(t, []*a2a.Message{task.Status.Message}, "City?")
	w.stop()

	w = newWorld(t, st, interview)
	task = w.mustSend(reply(task, "London"))
	wantState(t, task, a2a.TaskStateCompleted)
	wantTexts(t, task.History, "go", "Name?", "Ada", "City?", "London")
	if got := task.Artifacts[0].Parts[0].Text; got != "Ada of London" {
		t.Errorf("artifact is %q", got)
	}
}

func TestAuthRequiredKeepsTheStreamOpen(t *testing.T) {
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if _, err := t.Authenticate(ctx, "log in"); err != nil {
			return err
		}
		return t.Artifact("auth").Last(a2a.TextPart("ok"))
	}))
	var got []*a2a.StreamResponse
	for ev, err := range w.SendStreamingMessage(t.Context(), send("go")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev)
		if ev.State() == a2a.TaskStateAuthRequired {
			id := ev.TaskID()
			go w.SendMessage(context.Background(), reply(&a2a.Task{ID: id}, "done"))
		}
	}
	if b, want := brief(got), "task:submitted auth_required working artifact:ok. completed"; b != want {
		t.Errorf("stream is %q, want %q", b, want)
	}
}

func TestMessagesWhileATurnRuns(t *testing.T) {
	g := newGated()
	heard := make(chan string, 2)
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := g.Run(ctx, t); err != nil {
			return err
		}
		m, err := t.Ask(ctx, "next?")
		heard <- m.Text()
		return err
	}))
	go func() { <-g.entered }()
	task := w.mustSend(sendNow("first"))
	queued := w.mustSend(func() *a2a.SendMessageRequest {
		r := reply(task, "second")
		r.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
		return r
	}())
	wantState(t, queued, a2a.TaskStateSubmitted)
	wantTexts(t, queued.History, "first", "second")
	g.leave <- nil
	done := w.eventually(task.ID, a2a.TaskStateCompleted)
	if got := <-heard; got != "second" {
		t.Errorf("Ask got %q, want the message that waited", got)
	}
	wantTexts(t, done.History, "first", "second")
}

func TestMessageThatComesTooLateIsAnError(t *testing.T) {
	g := newGated()
	w := newWorld(t, nil, g)
	go func() { <-g.entered }()
	task := w.mustSend(sendNow("first"))
	answered := make(chan error)
	go func() {
		_, err := w.SendMessage(t.Context(), reply(task, "second"))
		answered <- err
	}()
	messages := 0
	for some, err := range w.Log(t.Context(), "", task.ID, 0, true) {
		if err != nil {
			t.Fatal(err)
		}
		for _, en := range some {
			if en.Kind == a2a.EntryMessage {
				messages++
			}
		}
		if messages == 2 {
			break
		}
	}
	g.leave <- nil
	wantError(t, <-answered, a2a.ErrUnsupportedOperation)
	wantState(t, w.mustGet(task.ID), a2a.TaskStateCompleted)
}

func TestCancelRunning(t *testing.T) {
	g := newGated()
	w := newWorld(t, nil, g)
	go func() { <-g.entered }()
	task := w.mustSend(sendNow("x"))
	got, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, got, a2a.TaskStateCanceled)
	if got, err = w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}); err != nil || got.Status.State != a2a.TaskStateCanceled {
		t.Errorf("canceling again: %v, %v", got, err)
	}
	_, err = w.SendMessage(t.Context(), reply(task, "more"))
	wantError(t, err, a2a.ErrUnsupportedOperation)
}

func TestCancelWaiting(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	w := newWorld(t, st, interview)
	here, later := w.mustSend(send("go")), w.mustSend(send("go"))
	got, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: here.ID})
	if err != nil {
		t.Fatal(err)
	}
	wantState(t, got, a2a.TaskStateCanceled)
	w.stop()

	w = newWorld(t, st, interview) // no run of the agent holds the task now
	if got, err = w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: later.ID}); err != nil {
		t.Fatal(err)
	}
	wantState(t, got, a2a.TaskStateCanceled)
	wantState(t, w.mustGet(here.ID), a2a.TaskStateCanceled)
}

func TestCancelFinishedAndUnknown(t *testing.T) {
	w := newWorld(t, nil, parrot)
	task := w.mustSend(send("x"))
	_, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
	wantError(t, err, a2a.ErrTaskNotCancelable)
	_, err = w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "no-such"})
	wantError(t, err, a2a.ErrTaskNotFound)
}

func TestAgentThatIgnoresCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		late := make(chan error, 1)
		w := newWorld(t, st, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			time.Sleep(time.Minute) // deaf to ctx
			late <- t.Artifact("late").Last(a2a.TextPart("x"))
			return nil
		}))
		task := w.mustSend(sendNow("x"))
		start := time.Now()
		got, err := w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		wantState(t, got, a2a.TaskStateCanceled)
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("the caller waited %v, want 2s", d)
		}
		wantError(t, <-late, agent.ErrEnded)
		if got := w.mustGet(task.ID); len(got.Artifacts) != 0 {
			t.Error("late output was taken")
		}
		w.stop()
		st.Close()
	})
}

// Cancel and completion race; there is exactly one end, and all callers are told the same.
func TestCancelRace(t *testing.T) {
	for range 200 {
		g := newGated()
		w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			if err := g.Run(ctx, t); err != nil {
				return err
			}
			return t.Artifact("a").Last(a2a.TextPart("x"))
		}))
		go func() { <-g.entered }()
		task := w.mustSend(sendNow("x"))
		over := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			select {
			case g.leave <- nil:
			case <-over: // cancelled before it could leave
			}
		})
		var errs [2]error
		for i := range errs {
			wg.Go(func() { _, errs[i] = w.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: task.ID}) })
		}
		var end *a2a.Task
		wg.Go(func() {
			sub := w.topics.Join(store.Key{ID: task.ID})
			defer w.topics.Leave(sub)
			if _, err := w.topics.Await(t.Context(), sub, math.MaxInt64, a2a.TaskState.Terminal); err != nil {
				t.Error(err)
				return
			}
			end = w.mustGet(task.ID)
			close(over)
		})
		wg.Wait()
		for _, err := range errs {
			canceled := end.Status.State == a2a.TaskStateCanceled
			if canceled && err != nil || !canceled && !errors.Is(err, a2a.ErrTaskNotCancelable) {
				t.Fatalf("the task ended %s, a cancel got %v", end.Status.State, err)
			}
		}
		ends := 0
		entries, err := w.st.Entries(t.Context(), store.Key{ID: task.ID}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range entries {
			en, err := a2a.DecodeEntry(raw.Seq, raw.Time, a2a.EntryKind(raw.Kind), raw.Body)
			if err != nil {
				t.Fatal(err)
			}
			if en.Kind == a2a.EntryStatus && en.Status.Status.State.Terminal() {
				ends++
			}
		}
		if ends != 1 {
			t.Fatalf("%d terminal states in the log", ends)
		}
		w.stop()
	}
}

func TestStepsRunOnce(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	var charged atomic.Int32
	shop := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		n, err := agent.Step(ctx, t, "charge", func(context.Context) (int, error) { return int(charged.Add(1)), nil })
		if err != nil {
			return err
		}
		if n != 1 {
			return agent.Public("charged twice", nil)
		}
		_, err = t.Ask(ctx, "Ship it?")
		return err
	})
	w := newWorld(t, st, shop)
	task := w.mustSend(send("buy"))
	w.stop()
	w = newWorld(t, st, shop)
	wantState(t, w.mustSend(reply(task, "yes")), a2a.TaskStateCompleted)
	if n := charged.Load(); n != 1 {
		t.Errorf("the step ran %d times", n)
	}
}

func TestReferencesAndSiblings(t *testing.T) {
	var refs, siblings []string
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if t.Text() != "look" {
			return t.Artifact(t.Text()).Last(a2a.TextPart("x"))
		}
		rs, err := t.References(ctx)
		if err != nil {
			return err
		}
		for _, r := range rs {
			refs = append(refs, r.Artifacts[0].Name)
		}
		for s, err := range t.Siblings(ctx) {
			if err != nil {
				return err
			}
			siblings = append(siblings, s.Artifacts[0].Name)
		}
		return nil
	}))
	one := w.mustSend(send("one"))
	req := send("two")
	req.Message.ContextID = one.ContextID
	w.mustSend(req)
	w.mustSend(send("elsewhere"))
	req = send("look")
	req.Message.ContextID = one.ContextID
	req.Message.ReferenceTaskIDs = []string{"unknown", one.ID, "unknown", one.ID}
	w.mustSend(req)
	if len(refs) != 1 || refs[0] != "one" {
		t.Errorf("references are %q", refs)
	}
	if len(siblings) != 2 {
		t.Errorf("siblings are %q, want the two of the context", siblings)
	}
}

// A message's fields are there again when the turn runs again.
func TestWhatCameAlongSurvivesARestart(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	type seen struct {
		accepted, extensions []string
		metadata             string
		attempt              int
	}
	var got []seen
	ag := agent.Func(func(ctx context.Context, t *agent.Turn) error {
		got = append(got, seen{t.AcceptedOutputModes(), t.Caller().Extensions, string(t.Metadata()), t.Attempt()})
		_, err := t.Ask(ctx, "?")
		return err
	})
	w := newWorld(t, st, ag)
	req := send("x")
	req.Metadata = a2a.JSON(`{"trace":12345678901234567890}`)
	req.Configuration = &a2a.SendMessageConfiguration{AcceptedOutputModes: []string{"text/html"}}
	resp, err := w.SendMessage(a2a.WithCaller(t.Context(), a2a.Caller{Extensions: []string{"urn:x"}}), req)
	if err != nil {
		t.Fatal(err)
	}
	w.stop()
	w = newWorld(t, st, ag)
	wantState(t, w.mustSend(reply(resp.Task, "y")), a2a.TaskStateCompleted)
	want := seen{[]string{"text/html"}, []string{"urn:x"}, string(req.Metadata), 1}
	if len(got) != 2 || !reflect.DeepEqual(got[0], want) {
		t.Fatalf("runs saw %+v, want first %+v", got, want)
	}
	want.attempt = 2
	if !reflect.DeepEqual(got[1], want) {
		t.Errorf("the second run saw %+v, want %+v", got[1], want)
	}
}

// After a drain the engine knows how many tasks go on; those that wait for their client
// do not by themselves.
func TestWhatADrainLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
			if turn.Text() == "ask" {
				_, err := turn.Ask(ctx, "what?")
				return err
			}
			if turn.Text() == "quick" {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}))
		for _, text := range []string{"ask", "quick", "long", "longer"} {
			if _, err := w.SendMessage(t.Context(), sendNow(text)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		w.stop()
		if n := w.Left(); n != 2 {
			t.Errorf("%d tasks go on, want 2", n)
		}
	})
}
