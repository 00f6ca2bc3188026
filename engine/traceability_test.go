package engine

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/store"
)

// asksForTrace is a client that asks for the traceability extension.
func asksForTrace(ctx context.Context) context.Context {
	return a2a.WithCaller(ctx, a2a.Caller{
		Extensions: []string{"https://example.org/other", a2a.TraceabilityURI},
		Trace:      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
	})
}

func traceableCard() *a2a.AgentCard {
	card := testCard()
	card.Capabilities.Extensions = []*a2a.AgentExtension{a2a.TraceabilityExtension()}
	return card
}

// traceOf returns the trace of a finished task; nil if there is none.
func traceOf(t *testing.T, task *a2a.Task) *a2a.ResponseTrace {
	t.Helper()
	for _, a := range task.Artifacts {
		if a.ArtifactID != a2a.TraceabilityKey {
			continue
		}
		trace := new(a2a.ResponseTrace)
		if len(a.Extensions) != 1 || a.Extensions[0] != a2a.TraceabilityURI || len(a.Parts) != 1 {
			t.Fatalf("the artifact is %+v", a)
		}
		if err := json.Unmarshal(a.Parts[0].Data, trace); err != nil {
			t.Fatal(err)
		}
		return trace
	}
	return nil
}

// A client that asks for it is told which steps its answer took, how they are nested, and their
// outcomes. Other clients are not told, and none is if the card does not offer it.
func TestTraceability(t *testing.T) {
	ag := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		if turn.Text() == "direct" {
			return turn.Reply("hello")
		}
		_, err := agent.Step(ctx, turn, "outer", func(ctx context.Context) (string, error) {
			_, _ = agent.Step(ctx, turn, "fails", func(context.Context) (string, error) { return "", errors.New("no") })
			return agent.Step(ctx, turn, "inner", func(context.Context) (string, error) { return "x", nil })
		})
		if err != nil {
			return err
		}
		switch turn.Text() {
		case "fail":
			return agent.Public("no luck", nil)
		}
		return turn.Status("nearly")
	})
	w := newWorldWith(t, nil, ag, traceableCard(), nil)
	ask := func(w *world, ctx context.Context, text string) *a2a.SendMessageResponse {
		t.Helper()
		got, err := w.SendMessage(ctx, send(text))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	check := func(trace *a2a.ResponseTrace) {
		t.Helper()
		if trace == nil || trace.TraceID != "0af7651916cd43dd8448eb211c80319c" || len(trace.Steps) != 3 {
			t.Fatalf("%+v", trace)
		}
		for i, want := range []struct{ tool, parent, recorded string }{{"outer", "", ""}, {"fails", "1", "false"}, {"inner", "1", ""}} {
			s := trace.Steps[i]
			if s.Action.Tool == nil || s.Action.Tool.Name != want.tool || s.ParentStepID != want.parent || s.Attributes["recorded"] != want.recorded ||
				s.TraceID != trace.TraceID || s.CallType != "TOOL" || s.Start.IsZero() || s.End.Before(s.Start) {
				t.Errorf("step %d is %+v, want %+v", i, s, want)
			}
		}
	}
	for text, state := range map[string]a2a.TaskState{"done": a2a.TaskStateCompleted, "fail": a2a.TaskStateFailed} {
		task := ask(w, asksForTrace(t.Context()), text).Task
		if task.Status.State != state {
			t.Errorf("%s: the task is %s", text, task.Status.State)
		}
		check(traceOf(t, task))
		if trace := traceOf(t, ask(w, t.Context(), text).Task); trace != nil {
			t.Errorf("%s: told without being asked: %+v", text, trace)
		}
	}

	direct := ask(w, asksForTrace(t.Context()), "direct")
	var in map[string]*a2a.ResponseTrace
	if direct.Message == nil || json.Unmarshal(direct.Message.Metadata, &in) != nil {
		t.Fatalf("%+v", direct)
	}
	if is := in[a2a.TraceabilityKey]; is == nil || is.TraceID != "0af7651916cd43dd8448eb211c80319c" || is.Steps == nil || len(is.Steps) != 0 {
		t.Errorf("a direct answer, which has no steps, has %s", direct.Message.Metadata)
	}
	if m := ask(w, t.Context(), "direct").Message; len(m.Metadata) > 0 {
		t.Errorf("told without being asked: %s", m.Metadata)
	}

	silent := newWorld(t, nil, ag)
	if trace := traceOf(t, ask(silent, asksForTrace(t.Context()), "done").Task); trace != nil {
		t.Errorf("told though the card does not offer it: %+v", trace)
	}
}

// A run after a restart tells of the steps that the one before did, too, and the task
// has one trace.
func TestTraceabilityAfterARestart(t *testing.T) {
	st := store.NewMemory()
	defer st.Close()
	began := make(chan struct{})
	first := true
	ag := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		if _, err := agent.Step(ctx, turn, "once", func(context.Context) (string, error) { return "x", nil }); err != nil {
			return err
		}
		if first {
			if err := turn.Sync(ctx); err != nil {
				return err
			}
			close(began)
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	})
	w := newWorldWith(t, st, ag, traceableCard(), nil)
	got, err := w.SendMessage(asksForTrace(t.Context()), sendNow("go"))
	if err != nil {
		t.Fatal(err)
	}
	<-began
	w.stop()
	first = false
	w = newWorldWith(t, st, ag, traceableCard(), nil)
	for r, err := range w.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: got.Task.ID}) {
		if err != nil && !errors.Is(err, a2a.ErrUnsupportedOperation) { // it has ended already
			t.Fatal(err)
		}
		_ = r
	}
	task, err := w.GetTask(t.Context(), &a2a.GetTaskRequest{ID: got.Task.ID})
	if err != nil {
		t.Fatal(err)
	}
	trace := traceOf(t, task)
	if trace == nil || len(trace.Steps) != 1 || trace.Steps[0].Attributes["replayed"] != "true" || len(task.Artifacts) != 1 {
		t.Errorf("%+v of %+v", trace, task)
	}
}
