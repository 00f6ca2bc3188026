package openai_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
	"github.com/parley-a2a/parley/test/fixtures"
)

// world is an engine with the agent, and the fake that it asks.
type world struct {
	*engine.Engine
	t    *testing.T
	fake *openaitest.Server
	st   store.Store
	log  *fixtures.Buffer
	stop func() // drains; may be called twice
}

// newWorld starts one. Of o, Client and Logger are set, where they are not yet.
func newWorld(t *testing.T, fake *openaitest.Server, o *openai.Options) *world {
	t.Helper()
	st := store.NewMemory()
	t.Cleanup(func() { st.Close() })
	return worldOver(t, st, fake, o)
}

// worldOver is another process over the same store.
func worldOver(t *testing.T, st store.Store, fake *openaitest.Server, o *openai.Options) *world {
	t.Helper()
	opts := openai.Options{}
	if o != nil {
		opts = *o
	}
	if opts.Client == nil {
		opts.Client = fake.Client()
	}
	w := &world{t: t, fake: fake, st: st, log: new(fixtures.Buffer)}
	logger := slog.New(slog.NewTextHandler(w.log, nil))
	if opts.Logger == nil {
		opts.Logger = logger
	}
	ag, err := openai.New("http://model.test/v1", "fake-1", &opts)
	if err != nil {
		t.Fatal(err)
	}
	card := openai.Card("fake-1", &opts)
	w.Engine = engine.New(st, ag, &card, &engine.Options{Logger: logger})
	w.stop = w.start()
	t.Cleanup(w.stop)
	return w
}

// start runs the engine, and returns what drains it.
func (w *world) start() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Run(ctx); err != nil {
			w.t.Error(err)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func request(parts ...*a2a.Part) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{
		Message:       &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: parts},
		Configuration: &a2a.SendMessageConfiguration{},
	}
}

// say sends a text and returns the task when it is over.
func (w *world) say(text string) *a2a.Task {
	w.t.Helper()
	return w.send(request(a2a.TextPart(text)))
}

func (w *world) send(req *a2a.SendMessageRequest) *a2a.Task {
	w.t.Helper()
	res, err := w.SendMessage(w.t.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	if res.Task == nil {
		w.t.Fatal("no task came into being")
	}
	return res.Task
}

// stream sends a text and hands each event on.
func (w *world) stream(text string, each func(*a2a.StreamResponse)) {
	w.t.Helper()
	for ev, err := range w.SendStreamingMessage(w.t.Context(), request(a2a.TextPart(text))) {
		if err != nil {
			w.t.Fatal(err)
		}
		each(ev)
	}
}

// answer is the text of a task's artifacts.
func answer(task *a2a.Task) string {
	var b strings.Builder
	for _, x := range task.Artifacts {
		for _, p := range x.Parts {
			b.WriteString(p.Text)
			b.Write(p.Data)
		}
	}
	return b.String()
}

// want fails the test unless the task ended like this; words is what its status
// message says, or a piece of it.
func want(t *testing.T, task *a2a.Task, state a2a.TaskState, text, words string) {
	t.Helper()
	if task.Status.State != state || answer(task) != text || !strings.Contains(task.Status.Message.Text(), words) {
		t.Errorf("got %s, %q: %q\nwant %s, %q: %q", task.Status.State, answer(task), task.Status.Message.Text(), state, text, words)
	}
}

// messages are those of a request, as role: text.
func messages(r openaitest.Request) []string {
	var out []string
	for _, m := range r.Body["messages"].([]any) {
		msg := m.(map[string]any)
		text, _ := msg["content"].(string)
		out = append(out, msg["role"].(string)+": "+text)
	}
	return out
}
