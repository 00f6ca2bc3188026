package engine

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

func TestQuickAnswerLeavesNoTask(t *testing.T) {
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		return t.Reply("hello " + t.Text())
	}))
	resp, err := w.SendMessage(t.Context(), send("you"))
	if err != nil {
		t.Fatal(err)
	}
	m := resp.Message
	if m == nil || m.Text() != "hello you" || m.Role != a2a.RoleAgent || m.ContextID == "" || m.TaskID != "" || m.MessageID == "" {
		t.Fatalf("answer is %+v", m)
	}
	list, err := w.ListTasks(t.Context(), &a2a.ListTasksRequest{})
	if err != nil || list.TotalSize != 0 {
		t.Fatalf("list is %+v, %v; want no task", list, err)
	}
	// returnImmediately changes nothing for direct answers.
	if resp, err = w.SendMessage(t.Context(), sendNow("you")); err != nil || resp.Message == nil {
		t.Fatalf("with returnImmediately: %+v, %v; want a message", resp, err)
	}
	evs, err := collect(w.SendStreamingMessage(t.Context(), send("you")))
	if err != nil || brief(evs) != "message:hello you" {
		t.Fatalf("stream is %s, %v", brief(evs), err)
	}
}

func TestSlowAnswerCompletesTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
			time.Sleep(150 * time.Millisecond)
			return t.Reply("late")
		}))
		start := time.Now()
		var at time.Duration
		var evs []*a2a.StreamResponse
		for ev, err := range w.SendStreamingMessage(t.Context(), send("x")) {
			if err != nil {
				t.Fatal(err)
			}
			if len(evs) == 0 {
				at = time.Since(start)
			}
			evs = append(evs, ev)
		}
		if got, want := brief(evs), "task:submitted completed"; got != want {
			t.Errorf("stream is %q, want %q", got, want)
		}
		if at != 100*time.Millisecond {
			t.Errorf("the task came after %v, want 100ms", at)
		}
		end := evs[1].StatusUpdate.Status.Message
		if end.Text() != "late" || end.TaskID == "" {
			t.Errorf("status message is %+v", end)
		}
		w.stop()
	})
}

// counting counts appends and can hold them back.
type counting struct {
	store.Store
	mu      sync.Mutex
	appends [][]store.Entry
	before  func(*store.Append) // may be nil
}

func (c *counting) Append(a *store.Append, done func(error)) {
	c.mu.Lock()
	c.appends = append(c.appends, a.Entries)
	before := c.before
	c.mu.Unlock()
	if before != nil {
		before(a)
	}
	c.Store.Append(a, done)
}

func TestQuickTaskIsOneCommit(t *testing.T) {
	// On one processor the agent runs to its end before the owner does: what is
	// ready together goes to the disk together.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	synctest.Test(t, func(t *testing.T) {
		c := &counting{Store: store.NewMemory()}
		w := newWorld(t, c, parrot)
		w.mustSend(send("x"))
		w.stop()
		c.Close()
		if len(c.appends) != 1 || len(c.appends[0]) != 4 {
			t.Errorf("%d appends, the first of %d entries; want one of 4 (created, message, artifact, status)", len(c.appends), len(c.appends[0]))
		}
	})
}

func TestBlockingSendAnswersWithTheWholeTask(t *testing.T) {
	w := newWorld(t, nil, parrot)
	task := w.mustSend(send("hi"))
	wantState(t, task, a2a.TaskStateCompleted)
	if len(task.Artifacts) != 1 || task.Artifacts[0].Parts[0].Text != "hi" || task.Artifacts[0].Name != "echo" {
		t.Errorf("artifacts are %+v", task.Artifacts)
	}
	wantTexts(t, task.History, "hi")
	if h := task.History[0]; h.TaskID != task.ID || h.ContextID != task.ContextID || task.ContextID == "" {
		t.Errorf("the message in the history lacks its ids: %+v", h)
	}
	sameTask(t, w.mustGet(task.ID), task)
}

func TestReturnImmediately(t *testing.T) {
	g := newGated()
	w := newWorld(t, nil, g)
	go func() { <-g.entered }()
	task := w.mustSend(sendNow("x"))
	wantState(t, task, a2a.TaskStateSubmitted)
	g.leave <- nil
	w.eventually(task.ID, a2a.TaskStateCompleted)
}

func TestWorkGoesOnWithoutItsCaller(t *testing.T) {
	g := newGated()
	w := newWorld(t, nil, g)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() {
		_, err := w.SendMessage(ctx, send("x"))
		answered <- err
	}()
	turn := <-g.entered
	id := turn.Task().ID
	if err := turn.Status("begun"); err != nil {
		t.Fatal(err)
	}
	cancel()
	wantError(t, <-answered, context.Canceled)
	g.leave <- nil
	w.eventually(id, a2a.TaskStateCompleted)
}

func TestStreamIsFirstATaskThenItsEvents(t *testing.T) {
	w := newWorld(t, nil, chunks)
	evs, err := collect(w.SendStreamingMessage(t.Context(), send("a b c")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := brief(evs), "task:submitted artifact:a chunk:b chunk:c. completed"; got != want {
		t.Fatalf("stream is %q, want %q", got, want)
	}
	for i, ev := range evs[1:] {
		if ev.Seq <= evs[i].Seq {
			t.Errorf("seq %d follows %d", ev.Seq, evs[i].Seq)
		}
	}
	sameTask(t, foldStream(evs), w.mustGet(evs[0].Task.ID))
}

func TestHowRunEnds(t *testing.T) {
	tests := []struct {
		name  string
		run   agent.Func
		state a2a.TaskState
		words string
	}{
		{"nil", func(context.Context, *agent.Turn) error { return nil }, a2a.TaskStateCompleted, ""},
		{"plain error", func(context.Context, *agent.Turn) error { return errors.New("/etc/secret: denied") }, a2a.TaskStateFailed, "the agent failed"},
		{"public error", func(context.Context, *agent.Turn) error { return agent.Public("no such city", errors.New("inner")) }, a2a.TaskStateFailed, "no such city"},
		{"panic", func(context.Context, *agent.Turn) error { panic("inner") }, a2a.TaskStateFailed, "the agent failed"},
		{"fail", func(_ context.Context, t *agent.Turn) error { return t.Fail("because") }, a2a.TaskStateFailed, "because"},
		{"reject", func(_ context.Context, t *agent.Turn) error { return t.Reject("no") }, a2a.TaskStateRejected, "no"},
		{"error after the end", func(_ context.Context, t *agent.Turn) error {
			return errors.Join(t.Reject("no"), errors.New("late"))
		}, a2a.TaskStateRejected, "no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, nil, tt.run)
			task := w.mustSend(send("x"))
			wantState(t, task, tt.state)
			if got := task.Status.Message.Text(); got != tt.words {
				t.Errorf("status message is %q, want %q", got, tt.words)
			}
			if strings.Contains(string(task.AppendJSON(nil)), "inner") || strings.Contains(string(task.AppendJSON(nil)), "secret") {
				t.Errorf("internals went out: %s", task.AppendJSON(nil))
			}
		})
	}
}

func TestNothingIsTakenAfterTheEnd(t *testing.T) {
	var after error
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if err := t.Reject("no"); err != nil {
			return err
		}
		after = t.Artifact("late").Last(a2a.TextPart("x"))
		return nil
	}))
	task := w.mustSend(send("x"))
	w.stop() // waits for the agent
	wantError(t, after, agent.ErrEnded)
	if len(task.Artifacts) != 0 {
		t.Error("an artifact came after the end")
	}
}

func TestFollowUpRefusals(t *testing.T) {
	w := newWorld(t, nil, agent.Func(func(ctx context.Context, t *agent.Turn) error {
		if t.Text() == "ask" {
			_, err := t.Ask(ctx, "?")
			return err
		}
		return t.Artifact("a").Last(a2a.TextPart("x"))
	}))
	done, open := w.mustSend(send("x")), w.mustSend(send("ask"))
	_, err := w.SendMessage(t.Context(), reply(done, "more"))
	wantError(t, err, a2a.ErrUnsupportedOperation)

	req := reply(open, "y")
	req.Message.ContextID = done.ContextID
	_, err = w.SendMessage(t.Context(), req)
	wantError(t, err, a2a.ErrInvalidParams)
	wantState(t, w.mustGet(open.ID), a2a.TaskStateInputRequired)

	_, err = w.SendMessage(t.Context(), reply(&a2a.Task{ID: "no-such"}, "y"))
	wantError(t, err, a2a.ErrTaskNotFound)
	_, err = w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "no-such"})
	wantError(t, err, a2a.ErrTaskNotFound)

	// Another tenant's task does not exist.
	req = reply(open, "y")
	req.Tenant = "other"
	_, err = w.SendMessage(t.Context(), req)
	wantError(t, err, a2a.ErrTaskNotFound)
}

func TestGate(t *testing.T) {
	card := testCard()
	card.Capabilities.Streaming = nil
	card.Capabilities.Extensions = []*a2a.AgentExtension{{URI: "urn:x", Required: true}}
	card.DefaultInputModes = []string{"text/plain", "image/*"}
	w := newWorldWith(t, nil, parrot, card, nil)

	_, err := w.SendMessage(t.Context(), send("x"))
	wantError(t, err, a2a.ErrExtensionSupportRequired)
	ctx := a2a.WithCaller(t.Context(), a2a.Caller{Extensions: []string{"urn:x"}})
	if _, err = w.SendMessage(ctx, send("x")); err != nil {
		t.Errorf("with the extension: %v", err)
	}
	_, err = collect(w.SendStreamingMessage(ctx, send("x")))
	wantError(t, err, a2a.ErrUnsupportedOperation)
	_, err = collect(w.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: "x"}))
	wantError(t, err, a2a.ErrUnsupportedOperation)

	req := send("x")
	req.Message.Parts = append(req.Message.Parts, a2a.RawPart([]byte("x"), "application/pdf", ""))
	_, err = w.SendMessage(ctx, req)
	wantError(t, err, a2a.ErrContentTypeNotSupported)
	req.Message.Parts[1].MediaType = "Image/PNG; q=1"
	if _, err = w.SendMessage(ctx, req); err != nil {
		t.Errorf("an image where image/* is taken: %v", err)
	}
	req = send("x")
	req.Configuration = &a2a.SendMessageConfiguration{TaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{URL: "https://x"}}
	_, err = w.SendMessage(ctx, req)
	wantError(t, err, a2a.ErrPushNotificationNotSupported)
	_, err = w.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	wantError(t, err, a2a.ErrUnsupportedOperation)
}
