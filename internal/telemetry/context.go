package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
)

// SpanContext reads a traceparent and a tracestate, each as one value. The result is
// not valid if the traceparent is not; a tracestate that is not valid counts as none
// (W3C Trace Context §3.3).
func SpanContext(traceparent, tracestate string) trace.SpanContext {
	if len(traceparent) != size || traceparent[:3] != "00-" || traceparent[35] != '-' || traceparent[52] != '-' {
		return trace.SpanContext{}
	}
	id, err := trace.TraceIDFromHex(traceparent[3:35])
	if err != nil {
		return trace.SpanContext{}
	}
	span, err := trace.SpanIDFromHex(traceparent[36:52])
	if err != nil {
		return trace.SpanContext{}
	}
	var flags trace.TraceFlags
	switch c := traceparent[54]; c { // of eight bits, the lowest says sampled
	case '1', '3', '5', '7', '9', 'b', 'd', 'f':
		flags = trace.FlagsSampled
	}
	c := trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: flags, Remote: true}
	if tracestate != "" {
		if state, err := trace.ParseTraceState(tracestate); err == nil {
			c.TraceState = state
		}
	}
	return trace.NewSpanContext(c)
}

// size is the length of a traceparent.
const size = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

// Dropped reports whether a traceparent that SpanContext reads names a span that is not
// kept.
func Dropped(traceparent string) bool {
	return len(traceparent) == size && strings.HasSuffix(traceparent, "-00")
}

// TraceID returns the id of the trace of a traceparent that SpanContext reads.
func TraceID(traceparent string) string { return traceparent[3:35] }

// Format is the inverse of SpanContext; it returns nothing if c is not valid.
func Format(c trace.SpanContext) (traceparent, tracestate string) {
	if !c.IsValid() {
		return "", ""
	}
	text := [...]byte{54: '0'}
	copy(text[:], "00-")
	id, span := c.TraceID(), c.SpanID()
	hex.Encode(text[3:], id[:])
	text[35] = '-'
	hex.Encode(text[36:], span[:])
	copy(text[52:], "-00")
	if c.IsSampled() {
		text[54] = '1'
	}
	return string(text[:]), c.TraceState().String()
}

// WithRemote returns a context whose next span is a child of the one that a
// traceparent names. If there is none, or it is not valid, the span is the first of its trace.
func WithRemote(ctx context.Context, traceparent, tracestate string) context.Context {
	if traceparent == "" && !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return trace.ContextWithSpanContext(ctx, SpanContext(traceparent, tracestate))
}

// Outgoing returns the traceparent and tracestate of a call that is made in ctx: of the
// context's span or, if nothing is traced, those that came with the caller. They are ""
// if there is no trace.
func Outgoing(ctx context.Context) (traceparent, tracestate string) {
	if traceparent, tracestate = Format(trace.SpanContextFromContext(ctx)); traceparent != "" {
		return traceparent, tracestate
	}
	c := a2a.CallerFrom(ctx)
	return c.Trace, c.TraceState
}

// Inject sets the headers of a request that is made in ctx, under the names that
// net/http has for them. Without a trace it leaves them alone.
func Inject(ctx context.Context, header map[string][]string) {
	parent, state := Outgoing(ctx)
	if parent == "" {
		return
	}
	header["Traceparent"] = []string{parent}
	delete(header, "Tracestate") // an old one would belong to another traceparent
	if state != "" {
		header["Tracestate"] = []string{state}
	}
}

// Doing describes what a step of a run does, for a client that asked for the
// traceability extension. The step's function fills it in; it belongs to that
// function's goroutine until the function returns.
type Doing struct {
	ID     string // of the step, within its trace
	Tool   string // the tool that it calls; empty: the step's own name says it
	Tokens int64  // tokens that a model read and wrote
}

type doingKey struct{}

// WithDoing returns the context of a step.
func WithDoing(ctx context.Context, d *Doing) context.Context {
	return context.WithValue(ctx, doingKey{}, d)
}

// DoingIn returns the step that the context is in. It is nil outside of steps, and if
// no client asked.
func DoingIn(ctx context.Context) *Doing {
	d, _ := ctx.Value(doingKey{}).(*Doing)
	return d
}

// Calls records which tool the context's step calls.
func Calls(ctx context.Context, tool string) {
	if d := DoingIn(ctx); d != nil {
		d.Tool = tool
	}
}

// Spends adds to the tokens that the context's step used of a model.
func Spends(ctx context.Context, tokens int64) {
	if d := DoingIn(ctx); d != nil {
		d.Tokens += tokens
	}
}

// A killed process loses its open spans, while other spans, which were sent or are
// still to come, name them as parents. So that the process that takes over can write
// them, the id of a run's span follows from the task, and the log keeps the span of a
// call. A provider of package export uses the ids that it is told.

type identityKey struct{}

// WithIdentity returns a context whose next span is to have c's ids. It is for Start
// only: the context of the span's children must not come from it.
func WithIdentity(ctx context.Context, c trace.SpanContext) context.Context {
	return context.WithValue(ctx, identityKey{}, c)
}

// Identity returns the ids that the next span of the context is to have.
func Identity(ctx context.Context) (c trace.SpanContext, ok bool) {
	c, ok = ctx.Value(identityKey{}).(trace.SpanContext)
	return c, ok
}

// RunID returns the id of the span of a run: the same in every process.
func RunID(in trace.TraceID, tenant, owner, task, message string, attempt int32) (id trace.SpanID) {
	h := sha256.New()
	h.Write(in[:])
	for _, s := range []string{"parley run", tenant, owner, task, message} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(attempt)))
	copy(id[:], h.Sum(nil))
	return id
}

type callKey struct{}

// WithCall records in the context what the span of its call is: the operation, and the
// traceparent that came with the call.
func WithCall(ctx context.Context, operation, parent string) context.Context {
	return context.WithValue(ctx, callKey{}, strings.TrimSpace(operation+" "+parent))
}

// Call returns what WithCall recorded, as one text; "" if there is nothing.
func Call(ctx context.Context) string {
	s, _ := ctx.Value(callKey{}).(string)
	return s
}

// ReadCall is the inverse of Call: it reads its text.
func ReadCall(s string) (operation, parent string) {
	operation, parent, _ = strings.Cut(s, " ")
	return operation, parent
}
