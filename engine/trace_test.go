package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/store"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// Two calls of other systems, as their traceparents say.
const (
	callOne = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	callTwo = "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
)

func traced() (*tracetest.SpanRecorder, *Options) {
	r := tracetest.NewSpanRecorder()
	return r, &Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))}
}

// from returns a context of a call in a trace.
func calledIn(ctx context.Context, traceparent string) context.Context {
	return a2a.WithCaller(ctx, a2a.Caller{Trace: traceparent, TraceState: "k=v"})
}

// spansNamed are those that have ended, in that order.
func spansNamed(r *tracetest.SpanRecorder, name string) (some []sdktrace.ReadOnlySpan) {
	for _, s := range r.Ended() {
		if s.Name() == name {
			some = append(some, s)
		}
	}
	return some
}

func attr(s sdktrace.ReadOnlySpan, key attribute.Key) string {
	for _, a := range s.Attributes() {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

func wantAttrs(t *testing.T, s sdktrace.ReadOnlySpan, want map[attribute.Key]string) {
	t.Helper()
	for key, value := range want {
		if got := attr(s, key); got != value {
			t.Errorf("%s: %s is %q, not %q", s.Name(), key, got, value)
		}
	}
}

func wantParent(t *testing.T, s sdktrace.ReadOnlySpan, want trace.SpanContext) {
	t.Helper()
	if s.Parent().SpanID() != want.SpanID() || s.SpanContext().TraceID() != want.TraceID() {
		t.Errorf("%s is a child of %v in %v, not of %v in %v", s.Name(), s.Parent().SpanID(), s.SpanContext().TraceID(), want.SpanID(), want.TraceID())
	}
}

func wantLink(t *testing.T, s sdktrace.ReadOnlySpan, want ...string) {
	t.Helper()
	got := []string{}
	for _, l := range s.Links() {
		text, _ := telemetry.Format(l.SpanContext)
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s has links to %v, not to %v", s.Name(), got, want)
	}
}

// A process is lost in the middle of a run. The next one's run is in the same trace,
// below the span of the same message, to which it is also linked; of the trace it
// knows from the log alone.
func TestATraceSurvivesItsProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := store.NewMemory()
		defer st.Close()
		var programs []a2a.Caller
		ag := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
			programs = append(programs, turn.Caller(), a2a.CallerFrom(ctx))
			_, err := agent.Step(ctx, turn, "charge", func(ctx context.Context) (int, error) {
				_, span := telemetry.Start(ctx, "bank", trace.SpanKindClient)
				span.End()
				return 1, nil
			})
			if err != nil {
				return err
			}
			if turn.Attempt() == 1 {
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return turn.Complete("done")
		})
		r, o := traced()
		w, kill := newMortal(t, st, ag, o)
		resp, err := w.SendMessage(calledIn(t.Context(), callOne), sendNow("go"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		kill()
		if n := len(spansNamed(r, "step charge")); n != 1 {
			t.Fatalf("%d steps", n)
		}

		r2, o2 := traced()
		w2 := newWorldWith(t, st, ag, testCard(), o2)
		time.Sleep(time.Minute)
		wantState(t, w2.mustGet(resp.Task.ID), a2a.TaskStateCompleted)

		message := telemetry.SpanContext(callOne, "")
		first, again := spansNamed(r, "invoke_agent test")[0], spansNamed(r2, "invoke_agent test")[0]
		wantParent(t, first, message)
		wantLink(t, first)
		wantAttrs(t, first, map[attribute.Key]string{
			telemetry.GenAIOperationName: "invoke_agent", telemetry.GenAIAgentName: "test", telemetry.AgentKind: "func",
			telemetry.A2ATaskID: resp.Task.ID, telemetry.GenAIConversationID: resp.Task.ContextID,
			telemetry.Turn: "1", telemetry.Attempt: "1", telemetry.TakenOver: "",
		})
		wantParent(t, again, message)
		wantLink(t, again, callOne)
		wantAttrs(t, again, map[attribute.Key]string{
			telemetry.Turn: "1", telemetry.Attempt: "2", telemetry.TakenOver: "true", telemetry.A2ATaskState: "TASK_STATE_COMPLETED",
		})
		wantParent(t, spansNamed(r, "step charge")[0], first.SpanContext())
		wantParent(t, spansNamed(r, "bank")[0], spansNamed(r, "step charge")[0].SpanContext())
		wantAttrs(t, spansNamed(r, "step charge")[0], map[attribute.Key]string{telemetry.StepIndex: "1", telemetry.StepReplayed: "false"})
		wantParent(t, spansNamed(r2, "step charge")[0], again.SpanContext())
		wantAttrs(t, spansNamed(r2, "step charge")[0], map[attribute.Key]string{telemetry.StepIndex: "1", telemetry.StepReplayed: "true"})
		for i, run := range []sdktrace.ReadOnlySpan{first, first, again, again} {
			text, _ := telemetry.Format(run.SpanContext())
			if programs[i].Trace != text || programs[i].TraceState != "k=v" {
				t.Errorf("what the agent calls gets %q, %q and not the run's %q", programs[i].Trace, programs[i].TraceState, text)
			}
		}
	})
}

func TestAQuestionIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o := traced()
		w := newWorldWith(t, nil, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
			if _, err := turn.Ask(ctx, "Which city?"); err != nil {
				return err
			}
			return errors.New("no such city")
		}), testCard(), o)
		resp, err := w.SendMessage(calledIn(t.Context(), callOne), send("go"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if _, err := w.SendMessage(calledIn(t.Context(), callTwo), reply(resp.Task, "Rome")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		run := spansNamed(r, "invoke_agent test")[0]
		wantParent(t, run, telemetry.SpanContext(callOne, ""))
		wantLink(t, run, callTwo)
		var events []string
		for _, e := range run.Events() {
			events = append(events, e.Name)
			if e.Name == telemetry.EventAnswered && (len(e.Attributes) != 1 || e.Attributes[0] != telemetry.WaitedMS.Int64(24*60*60*1000)) {
				t.Errorf("answered with %v", e.Attributes)
			}
		}
		if !slices.Equal(events, []string{"ask", "answered"}) {
			t.Errorf("events are %q", events)
		}
		wantAttrs(t, run, map[attribute.Key]string{telemetry.A2ATaskState: "TASK_STATE_FAILED", telemetry.ErrorType: "_OTHER"})
		if s := run.Status(); s.Code != otelcodes.Error || strings.Contains(s.Description, "city") {
			t.Errorf("the status is %v: an agent's error stays inside", s)
		}
	})
}

// A task that is reopened is run below the message that did it, and is linked to the
// first one.
func TestALaterTurnIsLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o := traced()
		w := newWorldWith(t, nil, agent.Func(func(ctx context.Context, turn *agent.Turn) error { return turn.Complete("") }), testCard(), o)
		for _, call := range []string{callOne, callTwo} {
			if _, err := w.SendMessage(calledIn(t.Context(), call), first01("mine", "go")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		runs := spansNamed(r, "invoke_agent test")
		if len(runs) != 2 {
			t.Fatalf("%d runs", len(runs))
		}
		wantParent(t, runs[1], telemetry.SpanContext(callTwo, ""))
		wantLink(t, runs[1], callOne)
		wantAttrs(t, runs[1], map[attribute.Key]string{telemetry.Turn: "2", telemetry.Attempt: "1"})
	})
}

// The run of a turn that begins together with the end of the turn before is linked, too.
func TestATurnThatFollowsAtOnceIsLinked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o := traced()
		g := newGated()
		w := newWorldWith(t, nil, g, testCard(), o)
		for i, call := range []string{callOne, callTwo} {
			if i == 0 {
				go func() { <-g.entered }()
			}
			req := first01("mine", "go")
			req.Configuration = &a2a.SendMessageConfiguration{ReturnImmediately: true}
			if _, err := w.SendMessage(calledIn(t.Context(), call), req); err != nil {
				t.Fatal(err)
			}
		}
		g.leave <- nil // without the second message
		<-g.entered
		g.leave <- nil
		w.eventually("mine", a2a.TaskStateCompleted)
		synctest.Wait()
		runs := spansNamed(r, "invoke_agent test")
		if len(runs) != 2 {
			t.Fatalf("%d runs", len(runs))
		}
		wantParent(t, runs[1], telemetry.SpanContext(callTwo, ""))
		wantLink(t, runs[1], callOne)
		w.stop()
	})
}

// The span of a call whose message had come before says so.
func TestAReplayIsMarked(t *testing.T) {
	r, o := traced()
	o.Retries = Retries{Window: time.Hour, Anonymous: true}
	w := newWorldWith(t, nil, agent.Func(func(ctx context.Context, turn *agent.Turn) error { return turn.Complete("") }), testCard(), o)
	req := send("go")
	for range 2 {
		ctx, span := telemetry.Tracer(o.TracerProvider).Start(t.Context(), "SendMessage")
		if _, err := w.SendMessage(ctx, req); err != nil {
			t.Fatal(err)
		}
		span.End()
	}
	calls := spansNamed(r, "SendMessage")
	wantAttrs(t, calls[0], map[attribute.Key]string{telemetry.Replayed: ""})
	wantAttrs(t, calls[1], map[attribute.Key]string{telemetry.Replayed: "true"})
}

// Another process gets the trace with a message that is forwarded to it.
func TestATraceIsForwarded(t *testing.T) {
	r, o := traced()
	e := New(store.NewMemory(), agent.Func(func(context.Context, *agent.Turn) error { return nil }), testCard(), o)
	a := &access{caller: a2a.Caller{Trace: callOne, TraceState: "k=v"}}
	req := send("go")
	got, _, _, err := sendMemo(a, req, e.forwardName(a, req)).request()
	if err != nil || got.caller.Trace != callOne || got.caller.TraceState != "k=v" {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(r.Started()); n != 0 {
		t.Errorf("%d spans", n)
	}
}

// Spans hold people's words only if the operator says so.
func TestContentsInSpans(t *testing.T) {
	for _, on := range []bool{false, true} {
		r, o := traced()
		o.TraceContent = on
		var told bool
		w := newWorldWith(t, nil, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
			told = telemetry.Content(ctx)
			return turn.Complete("fine")
		}), testCard(), o)
		w.mustSend(send("How are you?"))
		w.stop()
		want := map[attribute.Key]string{telemetry.GenAIInputMessages: "", telemetry.GenAIOutputMessages: ""}
		if on {
			want[telemetry.GenAIInputMessages] = `[{"parts":[{"type":"text","content":"How are you?"}],"role":"user"}]`
			want[telemetry.GenAIOutputMessages] = `[{"finish_reason":"stop","parts":[{"type":"text","content":"fine"}],"role":"assistant"}]`
		}
		if told != on {
			t.Errorf("agents may write contents: %v", told)
		}
		wantAttrs(t, spansNamed(r, "invoke_agent test")[0], want)
	}
}

// A run whose call was not sampled has no span, whatever the sampler would decide for it: the
// trace is kept as a whole or not at all. Calls that the agent makes carry the trace.
func TestARunIsDroppedWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dropped := strings.TrimSuffix(callOne, "1") + "0"
		var programs []a2a.Caller
		r, o := traced()
		st := store.NewMemory()
		defer st.Close()
		w := newWorldWith(t, st, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
			parent, state := telemetry.Outgoing(ctx)
			programs = append(programs, turn.Caller(), a2a.Caller{Trace: parent, TraceState: state})
			if _, err := agent.Step(ctx, turn, "charge", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return err
			}
			return turn.Complete("done")
		}), testCard(), o)
		resp, err := w.SendMessage(calledIn(t.Context(), dropped), sendNow("go"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		wantState(t, w.mustGet(resp.Task.ID), a2a.TaskStateCompleted)
		for _, p := range programs {
			if p.Trace != dropped || p.TraceState != "k=v" {
				t.Errorf("what the agent calls gets %q, %q", p.Trace, p.TraceState)
			}
		}
		if n := len(r.Started()); n != 0 || len(programs) != 2 {
			t.Errorf("%d spans of %d calls", n, len(programs))
		}
		for batch, err := range w.Log(t.Context(), "", resp.Task.ID, 0, false) {
			if err != nil {
				t.Fatal(err)
			}
			for _, en := range batch {
				if en.Received != nil {
					t.Errorf("entry %d keeps %+v: a trace that nobody keeps costs each task some bytes on disk", en.Seq, en.Received)
				}
			}
		}
	})
}
