package telemetry_test

import (
	"context"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestSpanContexts(t *testing.T) {
	for in, want := range map[string]string{
		parent: parent,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03": parent,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01": "",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": "",
		"": "", "00-": "", "01" + parent[2:]: "", parent + "x": "",
	} {
		if got, _ := telemetry.Format(telemetry.SpanContext(in, "")); got != want {
			t.Errorf("%q becomes %q, not %q", in, got, want)
		}
	}
	if _, got := telemetry.Format(telemetry.SpanContext(parent, "a=1,b=2")); got != "a=1,b=2" {
		t.Errorf("the state becomes %q", got)
	}
	if c := telemetry.SpanContext(parent, "no state,,"); !c.IsValid() || c.TraceState().Len() != 0 {
		t.Errorf("a state that is not valid spoils the trace: %v", c)
	}
}

func TestDropped(t *testing.T) {
	for in, want := range map[string]bool{"": false, parent: false, parent[:53] + "00": true, parent[:53] + "03": false} {
		if got := telemetry.Dropped(in); got != want {
			t.Errorf("%q is dropped: %t", in, got)
		}
	}
	if got, want := telemetry.TraceID(parent), "0af7651916cd43dd8448eb211c80319c"; got != want {
		t.Errorf("the id is %q", got)
	}
}

func FuzzSpanContext(f *testing.F) {
	f.Add(parent, "a=1")
	f.Add("", strings.Repeat("k=v,", 40))
	f.Fuzz(func(t *testing.T, traceparent, tracestate string) {
		c := telemetry.SpanContext(traceparent, tracestate)
		again, state := telemetry.Format(c)
		if c.IsValid() != (again != "") {
			t.Fatalf("%q is written as %q", traceparent, again)
		}
		if !telemetry.SpanContext(again, state).Equal(c) {
			t.Fatalf("%q, %q is read again as another one", again, state)
		}
	})
}

func TestOffCostsNothing(t *testing.T) {
	ctx := a2a.WithCaller(t.Context(), a2a.Caller{Trace: parent, TraceState: "a=1"})
	if n := testing.AllocsPerRun(100, func() {
		got, span := telemetry.Start(ctx, "step", trace.SpanKindInternal)
		telemetry.End(span, context.Canceled)
		if got != ctx || span.IsRecording() {
			t.Error("something is recorded without a provider")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if p, s := telemetry.Outgoing(ctx); p != parent || s != "a=1" {
		t.Errorf("what is called gets %q, %q", p, s)
	}
}

func TestCallsGoOutWithTheSpan(t *testing.T) {
	p := sdktrace.NewTracerProvider()
	ctx, span := telemetry.Tracer(p).Start(telemetry.WithRemote(t.Context(), parent, "a=1"), "run")
	ctx, child := telemetry.Start(ctx, "step", trace.SpanKindInternal)
	got, state := telemetry.Outgoing(ctx)
	if c := telemetry.SpanContext(got, ""); c.SpanID() != child.SpanContext().SpanID() || c.TraceID() != span.SpanContext().TraceID() || state != "a=1" {
		t.Errorf("%q %q", got, state)
	}
}
