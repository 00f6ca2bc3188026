package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/store"
)

// world is an engine at work, with what tests ask of it again and again.
type world struct {
	*Engine
	t    testing.TB
	st   store.Store
	stop func() // drains; may be called twice
}

func testCard() *a2a.AgentCard {
	return &a2a.AgentCard{
		Name:         "test",
		Capabilities: a2a.AgentCapabilities{Streaming: new(true)},
	}
}

// newWorld starts an engine over st (nil: a memory store that the test closes)
// and drains it at the end.
func newWorld(t testing.TB, st store.Store, ag agent.Agent) *world {
	return newWorldWith(t, st, ag, testCard(), nil)
}

func newWorldWith(t testing.TB, st store.Store, ag agent.Agent, card *a2a.AgentCard, o *Options) *world {
	t.Helper()
	return newWorldSet(t, st, ag, card, o, func(*Engine) {})
}

// newWorldSet is newWorldWith with what is set before the engine runs.
func newWorldSet(t testing.TB, st store.Store, ag agent.Agent, card *a2a.AgentCard, o *Options, set func(*Engine)) *world {
	t.Helper()
	return startWorld(t, st, o, func(st store.Store, o *Options) *Engine {
		e := New(st, ag, card, o)
		set(e)
		return e
	})
}

// startWorld starts the engine that is made with a store and options.
func startWorld(t testing.TB, st store.Store, o *Options, made func(store.Store, *Options) *Engine) *world {
	t.Helper()
	if st == nil {
		st = store.NewMemory()
		t.Cleanup(func() { st.Close() })
	}
	if o == nil {
		o = &Options{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(testLog{t}, nil))
	}
	w := &world{Engine: made(st, o), t: t, st: st}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(w.stop)
	return w
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

func message(text string) *a2a.Message {
	return &a2a.Message{MessageID: stored.NewID(), Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)}}
}

func send(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: message(text)}
}

func sendNow(text string) *a2a.SendMessageRequest {
	req := send(text)
	req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
	return req
}

func reply(task *a2a.Task, text string) *a2a.SendMessageRequest {
	req := send(text)
	req.Message.TaskID = task.ID
	return req
}

// mustSend returns the task that a blocking send answers with.
func (w *world) mustSend(req *a2a.SendMessageRequest) *a2a.Task {
	w.t.Helper()
	resp, err := w.SendMessage(w.t.Context(), req)
	if err != nil {
		w.t.Fatalf("SendMessage: %v", err)
	}
	if resp.Task == nil {
		w.t.Fatalf("SendMessage answered with a message: %+v", resp.Message)
	}
	return resp.Task
}

func (w *world) mustGet(id string) *a2a.Task {
	w.t.Helper()
	task, err := w.GetTask(w.t.Context(), &a2a.GetTaskRequest{ID: id})
	if err != nil {
		w.t.Fatalf("GetTask: %v", err)
	}
	return task
}

func wantState(t testing.TB, task *a2a.Task, want a2a.TaskState) {
	t.Helper()
	if task.Status.State != want {
		t.Fatalf("task is %s (%s), want %s", task.Status.State, task.Status.Message.Text(), want)
	}
}

func wantError(t testing.TB, err error, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// collect reads a stream to its end.
func collect(seq iter.Seq2[*a2a.StreamResponse, error]) (out []*a2a.StreamResponse, err error) {
	for ev, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, ev)
	}
	return out, nil
}

// brief spells a stream for comparison.
func brief(evs []*a2a.StreamResponse) string {
	var words []string
	for _, ev := range evs {
		switch {
		case ev.Task != nil:
			words = append(words, "task:"+short(ev.Task.Status.State))
		case ev.Message != nil:
			words = append(words, "message:"+ev.Message.Text())
		case ev.StatusUpdate != nil:
			words = append(words, short(ev.StatusUpdate.Status.State))
		case ev.ArtifactUpdate != nil:
			u := ev.ArtifactUpdate
			s := "artifact:"
			if u.Append {
				s = "chunk:"
			}
			for _, p := range u.Artifact.Parts {
				s += p.Text
			}
			if u.LastChunk {
				s += "."
			}
			words = append(words, s)
		}
	}
	return strings.Join(words, " ")
}

func short(s a2a.TaskState) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_"))
}

// foldStream returns the task that a client makes of a stream.
func foldStream(evs []*a2a.StreamResponse) *a2a.Task {
	var task *a2a.Task
	for _, ev := range evs {
		if ev.Task != nil {
			task = ev.Task.Snapshot()
			continue
		}
		task.ApplyEvent(ev)
	}
	return task
}

func sameTask(t testing.TB, got, want *a2a.Task) {
	t.Helper()
	g, w := string(got.AppendJSON(nil)), string(want.AppendJSON(nil))
	if g != w {
		t.Fatalf("tasks differ\n got %s\nwant %s", g, w)
	}
}

func texts(ms []*a2a.Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text())
	}
	return out
}

func wantTexts(t testing.TB, ms []*a2a.Message, want ...string) {
	t.Helper()
	if got := texts(ms); !slices.Equal(got, want) {
		t.Fatalf("history is %q, want %q", got, want)
	}
}

// parrot answers by completing with an artifact.
var parrot = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	return t.Artifact("echo").Last(a2a.TextPart(t.Text()))
})

// chunks streams as many chunks as the message says words.
var chunks = agent.Func(func(ctx context.Context, t *agent.Turn) error {
	w := t.Artifact("stream")
	fields := strings.Fields(t.Text())
	for i, f := range fields {
		p := a2a.TextPart(f)
		if i == len(fields)-1 {
			return w.Last(p)
		}
		if err := w.Add(p); err != nil {
			return err
		}
	}
	return nil
})

// gated lets a test decide when each run goes on.
type gated struct {
	entered chan *agent.Turn
	leave   chan error
}

func newGated() *gated { return &gated{make(chan *agent.Turn), make(chan error)} }

func (g *gated) Run(ctx context.Context, t *agent.Turn) error {
	select {
	case g.entered <- t:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-g.leave:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *world) eventually(id string, want a2a.TaskState) *a2a.Task {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	t := w.topics.Join(store.Key{ID: id})
	defer w.topics.Leave(t)
	if _, err := w.topics.Await(ctx, t, math.MaxInt64, func(s a2a.TaskState) bool { return s == want }); err != nil {
		w.t.Fatalf("waiting for %s: %v (now %s)", want, err, w.mustGet(id).Status.State)
	}
	return w.mustGet(id)
}

// now is the time as entries carry it, for a store that is not shared.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

func wordsOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", i)
	}
	return b.String()
}

// notKept replaces credentials in the log.
const notKept = "(credentials; not kept)"
