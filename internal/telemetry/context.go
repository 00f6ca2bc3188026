package telemetry

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"go.opentelemetry.io/otel/trace"
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

// size is how long a traceparent is.
const size = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

// Dropped reports whether a traceparent that SpanContext reads names a span that nobody keeps.
func Dropped(traceparent string) bool {
	return len(traceparent) == size && strings.HasSuffix(traceparent, "-00")
}

// TraceID returns the id of the trace of a traceparent that SpanContext reads.
func TraceID(traceparent string) string { return traceparent[3:35] }

// Format returns what SpanContext reads; nothing if c is not valid.
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

// Outgoing returns the traceparent and tracestate of a call that is made in ctx: of
// the context's span, or, where nothing is traced, those that came with the caller.
// They are "" where there is no trace.
func Outgoing(ctx context.Context) (traceparent, tracestate string) {
	if traceparent, tracestate = Format(trace.SpanContextFromContext(ctx)); traceparent != "" {
		return traceparent, tracestate
	}
	c := a2a.CallerFrom(ctx)
	return c.Trace, c.TraceState
}

// Inject sets the headers of a request that is made in ctx, by the names that net/http
// has them under. Where there is no trace, it leaves them alone.
func Inject(ctx context.Context, header map[string][]string) {
	parent, state := Outgoing(ctx)
	if parent == "" {
		return
	}
	header["Traceparent"] = []string{parent}
	delete(header, "Tracestate") // it would belong to another traceparent
	if state != "" {
		header["Tracestate"] = []string{state}
	}
}
