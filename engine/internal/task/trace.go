package task

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/telemetry"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// tracing has the spans of an owner's task. They are in the log, too: each message brought the
// span of its call (a2a.Received). So a run finds its parent, and the first message's span to
// link to, in any process.
type tracing struct {
	first     spanText // of the task's first message
	takenOver bool     // the run takes over from a process that was lost

	newest  atomic.Pointer[string] // the newest run's traceparent, for logs
	attempt atomic.Int32           // of the newest run, for logs; 0 before there is one

	// of the run, if it is traced
	span trace.Span
	text spanText
}

// spanText is a span as calls and logs carry it; the zero value is no span.
type spanText struct{ parent, state string }

func textOf(c *a2a.Caller) spanText { return spanText{c.Trace, c.TraceState} }

func (s spanText) context() trace.SpanContext { return telemetry.SpanContext(s.parent, s.state) }

// title describes an agent in spans.
type title struct {
	name, version, kind string

	span  string // the name of its runs' spans
	start []trace.SpanStartOption
}

func newTitle(name, version, kind string) title {
	return title{
		name: name, version: version, kind: kind, span: telemetry.SpanInvokeAgent + " " + name,
		start: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes( // what a sampler may want to know
			telemetry.GenAIOperationName.String(telemetry.SpanInvokeAgent), telemetry.Text(telemetry.GenAIAgentName, name))},
	}
}

// titled returns the title of the task's agent.
func (o *Owner) titled() *title {
	if a := o.all.Agent(o.key); a != nil {
		return &a.title
	}
	name, _ := AgentOf(o.key.Tenant)
	gone := newTitle(name, "", "")
	return &gone
}

// tracesLocked reports whether the run that is about to begin has a span. If it has none, its
// log records still name the trace. On a server that keeps one trace in a hundred, the call's
// span was usually dropped, and the run's with it. Calls that the agent makes carry the
// incoming call's traceparent.
func (o *Owner) tracesLocked() bool {
	if o.all.Tracer == nil {
		return false
	}
	call := &o.turn.messages[0].From.Caller.Trace
	if !telemetry.Dropped(*call) {
		return true
	}
	o.tracing.newest.Store(call)
	o.tracing.takenOver = false
	return false
}

// traceRun begins the span of a run, which the context then carries.
func (o *Owner) traceRun(ctx context.Context) context.Context {
	o.mu.Lock()
	p, first := o.turn.messages[0], o.tracing.first
	turn, attempt, takenOver := o.draft.reopened+1, o.turn.attempt, o.tracing.takenOver
	o.tracing.takenOver = false
	o.mu.Unlock()
	caused := textOf(&p.From.Caller).context()
	if caused.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, caused)
	}
	is := o.titled()
	start := is.start
	if turn > 1 || attempt > 1 {
		if c := first.context(); c.IsValid() {
			start = append(slices.Clip(start), trace.WithLinks(trace.Link{SpanContext: c}))
		}
	}
	as := ctx
	if caused.IsSampled() {
		as = telemetry.WithIdentity(ctx, o.runSpan(caused.TraceID(), p.Message.MessageID, attempt))
	}
	_, span := o.all.Tracer.Start(as, is.span, start...)
	ctx = trace.ContextWithSpan(ctx, span)
	if o.all.TraceContent {
		ctx = telemetry.WithContent(ctx)
	}
	if span.IsRecording() {
		span.SetAttributes(o.ofRun(p, is, turn, attempt, takenOver)...)
	}
	parent, state := telemetry.Format(span.SpanContext())
	o.tracing.newest.Store(&parent)
	o.mu.Lock()
	o.tracing.span, o.tracing.text = span, spanText{parent, state}
	o.mu.Unlock()
	return ctx
}

// ofRun returns the attributes of a run's span.
func (o *Owner) ofRun(p *Post, is *title, turn int, attempt int32, takenOver bool) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 10),
		telemetry.Text(telemetry.A2ATaskID, o.key.ID), telemetry.Text(telemetry.GenAIConversationID, o.contextID),
		telemetry.Text(telemetry.A2AMessageID, p.Message.MessageID),
		telemetry.Turn.Int(turn), telemetry.Attempt.Int(int(attempt)), telemetry.AgentKind.String(is.kind))
	if is.version != "" {
		attrs = append(attrs, telemetry.Text(telemetry.GenAIAgentVersion, is.version))
	}
	if takenOver {
		attrs = append(attrs, telemetry.TakenOver.Bool(true))
	}
	if o.all.TraceContent {
		attrs = append(attrs, telemetry.GenAIInputMessages.String(contents(p.Message, roleIn)))
	}
	return attrs
}

// endRun ends the span of a run; err is what Run returned.
func (o *Owner) endRun(err error) {
	o.mu.Lock()
	span := o.tracing.span
	o.tracing.span, o.tracing.text = nil, spanText{}
	state, drains := o.draft.state, context.Cause(o.ctx.Context) == agent.ErrDraining
	open := !state.Terminal() && (o.phase == phaseRunning || o.phase == phaseEnding)
	canceling, timedOut := o.turn.canceling != nil, o.adm.timedOut
	said := o.draft.words
	if reply := o.turn.messages[0].Reply; reply != nil {
		said = reply
	}
	o.mu.Unlock()
	if !span.IsRecording() {
		span.End()
		return
	}
	if said != nil && o.all.TraceContent {
		span.SetAttributes(telemetry.GenAIOutputMessages.String(contents(said, roleOut)))
	}
	if open { // the state that conclude is going to set
		switch {
		case canceling:
			state = a2a.TaskStateCanceled
		case timedOut:
			state = a2a.TaskStateFailed
		case err == nil:
			state = a2a.TaskStateCompleted
		case !drains:
			state = a2a.TaskStateFailed
		}
	}
	span.SetAttributes(telemetry.A2ATaskState.String(state.String()))
	if state == a2a.TaskStateFailed {
		what, words := "_OTHER", ""
		if timedOut {
			what = "timeout"
		} else if public, ok := errors.AsType[*agent.PublicError](err); ok {
			words = public.Reason
		}
		span.SetAttributes(telemetry.ErrorType.String(what))
		span.SetStatus(otelcodes.Error, words)
	}
	span.End()
}

// span returns the span of the run; nil if it is not traced.
func (o *Owner) span() trace.Span {
	if o.all.Tracer == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tracing.span
}

// asking is a question to the client in the run's span. The wait may last for days, so it is
// two events and not a span. The zero value belongs to a run that is not traced.
type asking struct {
	span trace.Span
	at   time.Time
}

func (o *Owner) asks(event string) asking {
	span := o.span()
	if span == nil {
		return asking{}
	}
	span.AddEvent(event)
	return asking{span, time.Now()}
}

// answered links the run to the message that answers.
func (a asking) answered(p *Post) {
	if a.span == nil {
		return
	}
	a.span.AddEvent(telemetry.EventAnswered, trace.WithAttributes(telemetry.WaitedMS.Int64(time.Since(a.at).Milliseconds())))
	if p != nil {
		if c := textOf(&p.From.Caller).context(); c.IsValid() {
			a.span.AddLink(trace.Link{SpanContext: c})
		}
	}
}

// traceStep begins the span of a step, the i-th of its name. The returned function ends it.
func (o *Owner) traceStep(ctx context.Context, name string, i int, replayed bool) (context.Context, func(error)) {
	run := o.span()
	if run == nil {
		return ctx, func(error) {}
	}
	if !trace.SpanContextFromContext(ctx).IsValid() { // a context of the agent's own
		ctx = trace.ContextWithSpan(ctx, run)
	}
	ctx, span := telemetry.Start(ctx, telemetry.SpanStep+" "+telemetry.Text("", name).Value.AsString(), trace.SpanKindInternal,
		telemetry.StepIndex.Int(i+1), telemetry.StepReplayed.Bool(replayed))
	return ctx, func(err error) { telemetry.End(span, err) }
}

// maxContent is how many bytes of a message's texts a span holds.
const maxContent = 8 << 10

// contents returns a message in the form of gen_ai.input.messages and gen_ai.output.messages:
// its texts and URLs, and only the kind of other parts.
func contents(m *a2a.Message, role string) string {
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content,omitempty"`
		URI     string `json:"uri,omitempty"`
		MIME    string `json:"mime_type,omitempty"`
	}
	left, parts := maxContent, []part{}
	for _, p := range m.Parts {
		one := part{Type: "text", MIME: p.MediaType}
		switch {
		case p.Text != "":
			one.Content = p.Text[:min(len(p.Text), left)]
			left -= len(one.Content)
		case p.URL != "":
			one.Type, one.URI = "uri", p.URL[:min(len(p.URL), left)]
			left -= len(one.URI)
		case len(p.Data) > 0:
			one.Type = "data"
		default:
			one.Type = "file"
		}
		if parts = append(parts, one); left <= 0 || len(parts) == 32 {
			break
		}
	}
	list := []map[string]any{{"role": role, "parts": parts}}
	if role == roleOut {
		list[0]["finish_reason"] = "stop"
	}
	doc, err := json.Marshal(list)
	if err != nil {
		return "" // cannot happen: there are only strings
	}
	return string(doc)
}

// Roles of messages, as the conventions name them.
const (
	roleIn  = "user"
	roleOut = "assistant"
)
