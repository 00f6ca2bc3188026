package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/store/storetest"
	"github.com/parley-a2a/parley/test/fixtures"
)

// world is an engine with an agent.
type world struct {
	*engine.Engine
	t     *testing.T
	agent *Agent
	store *storetest.Mortal
	log   *fixtures.Buffer
	stop  func()
}

// newWorld runs an agent of s; st may be nil.
func newWorld(t *testing.T, s Server, o *Options, st store.Store) *world {
	t.Helper()
	w := &world{t: t, log: new(fixtures.Buffer)}
	own := Options{}
	if o != nil {
		own = *o
	}
	own.Logger = slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	own.Grace = 100 * time.Millisecond
	a, err := New(s, &own)
	if err != nil {
		t.Fatal(err)
	}
	if st == nil {
		st = store.NewMemory()
		t.Cleanup(func() { st.Close() })
	}
	a.tools.patience, a.tools.pause = 0, time.Millisecond
	yes := true
	w.agent, w.store = a, storetest.NewMortal(st)
	card := &a2a.AgentCard{Name: "mcp", Capabilities: a2a.AgentCapabilities{Streaming: &yes}}
	w.Engine = engine.New(w.store, a, card, &engine.Options{Logger: own.Logger, DrainWait: 5 * time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil && !w.store.Dead() {
			t.Errorf("Run: %v", err)
		}
		a.Close()
	})
	t.Cleanup(w.stop)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.log)
		}
	})
	return w
}

// kill ends the world as kill -9 does, as far as others can see.
func (w *world) kill() {
	w.t.Helper()
	w.store.Kill()
	w.stop()
}

func tool(name, args string) *a2a.Part {
	return a2a.DataPart(a2a.JSON(fmt.Sprintf(`{"tool":%q,"arguments":%s}`, name, args)))
}

func message(parts ...*a2a.Part) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{MessageID: uuid.NewString(), Role: a2a.RoleUser, Parts: parts}}
}

// send sends a message and returns the task when it rests.
func (w *world) send(parts ...*a2a.Part) *a2a.Task {
	w.t.Helper()
	return w.sendTo("", parts...)
}

func (w *world) sendTo(id string, parts ...*a2a.Part) *a2a.Task {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	req := message(parts...)
	req.Message.TaskID = id
	resp, err := w.SendMessage(ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.Task == nil {
		w.t.Fatalf("a message, not a task: %s", resp.Message.Text())
	}
	return resp.Task
}

// begin sends a message and does not wait.
func (w *world) begin(parts ...*a2a.Part) string {
	w.t.Helper()
	req := message(parts...)
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	resp, err := w.SendMessage(w.t.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.Task.ID
}

// rest waits until a task rests.
func (w *world) rest(id string) *a2a.Task {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	for {
		task, err := w.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
		if err != nil {
			w.t.Fatal(err)
		}
		if s := task.Status.State; s.Terminal() || s.Interrupted() {
			return task
		}
		<-time.After(5 * time.Millisecond)
	}
}

func want(t *testing.T, task *a2a.Task, state a2a.TaskState, words ...string) {
	t.Helper()
	var b strings.Builder
	if m := task.Status.Message; m != nil {
		b.WriteString(show(m.Parts))
	}
	for _, a := range task.Artifacts {
		fmt.Fprintf(&b, " %s[%s]", a.Name, show(a.Parts))
	}
	if task.Status.State != state {
		t.Errorf("state %s, want %s: %s", task.Status.State, state, b.String())
	}
	for _, w := range words {
		if !strings.Contains(b.String(), w) {
			t.Errorf("%q is not in %s", w, b.String())
		}
	}
}

func show(parts []*a2a.Part) string {
	var out []string
	for _, p := range parts {
		switch p.Kind {
		case a2a.PartText:
			out = append(out, fmt.Sprintf("%q", p.Text))
		case a2a.PartData:
			out = append(out, string(p.Data))
		case a2a.PartRaw:
			out = append(out, fmt.Sprintf("raw %s %s %d", p.MediaType, p.Filename, len(p.Raw)))
		case a2a.PartURL:
			out = append(out, fmt.Sprintf("url %s %s %s", p.URL, p.MediaType, p.Filename))
		}
	}
	return strings.Join(out, ", ")
}

var _ agent.Agent = (*Agent)(nil)
