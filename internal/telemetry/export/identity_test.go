package export

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/internal/telemetry"
)

// A span whose context has an identity gets those ids, with a parent and without one;
// others have ids of their own.
func TestSpansHaveTheIDsTheyAreTold(t *testing.T) {
	tracer := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(identities{})).Tracer("test")
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	is := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{3}})
	for name, ctx := range map[string]context.Context{"child": trace.ContextWithSpanContext(t.Context(), parent), "root": t.Context()} {
		_, span := tracer.Start(telemetry.WithIdentity(ctx, is), name)
		if got := span.SpanContext(); got.TraceID() != is.TraceID() || got.SpanID() != is.SpanID() {
			t.Errorf("the %s is %v, want %v", name, got, is)
		}
		_, other := tracer.Start(ctx, name)
		if got := other.SpanContext(); !got.IsValid() || got.SpanID() == is.SpanID() {
			t.Errorf("another %s is %v", name, got)
		}
	}
	// Ids of another trace would take the span out of its trace.
	foreign := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{9}, SpanID: trace.SpanID{3}})
	if _, span := tracer.Start(telemetry.WithIdentity(trace.ContextWithSpanContext(t.Context(), parent), foreign), "x"); span.SpanContext().TraceID() != parent.TraceID() || span.SpanContext().SpanID() == foreign.SpanID() {
		t.Errorf("the span is %v", span.SpanContext())
	}
}
