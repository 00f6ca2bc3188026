package export

import (
	"context"
	"math"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/internal/telemetry"
)

// Of the traces that begin here the share is kept that was asked for, as a whole; those
// that began elsewhere are kept if they were there. A dropped trace has ids all the same,
// so that the servers that are called drop it, too.
func TestAShareOfTracesIsKept(t *testing.T) {
	const n, share = 20_000, 0.05
	got := tracetest.NewSpanRecorder()
	p := newSampled(sdktrace.NewTracerProvider(keepAll, sdktrace.WithSpanProcessor(got), sdktrace.WithIDGenerator(identities{})), share)
	tracer := telemetry.Tracer(p)
	for range n {
		ctx, root := tracer.Start(t.Context(), "root")
		below, child := telemetry.Start(ctx, "child", trace.SpanKindInternal)
		if is := root.SpanContext(); !is.IsValid() || is.IsSampled() != root.IsRecording() || child.SpanContext().TraceID() != is.TraceID() || child.IsRecording() != root.IsRecording() {
			t.Fatalf("the root is %v, its child %v", is, child.SpanContext())
		}
		if parent, _ := telemetry.Outgoing(below); telemetry.SpanContext(parent, "").SpanID() != child.SpanContext().SpanID() {
			t.Fatalf("what is called gets %q", parent)
		}
		child.End()
		root.End()
	}
	kept := len(got.Ended())
	if want := 2 * n * share; math.Abs(float64(kept)-want) > want/5 {
		t.Errorf("%d spans are kept, want some %v", kept, want)
	}
	for flags, want := range map[trace.TraceFlags]bool{0: false, trace.FlagsSampled: true} {
		parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true})
		_, span := tracer.Start(trace.ContextWithSpanContext(t.Context(), parent), "x")
		if is := span.SpanContext(); span.IsRecording() != want || is.TraceID() != parent.TraceID() || is.SpanID() == parent.SpanID() || is.IsSampled() != want {
			t.Errorf("below %v is %v", parent, is)
		}
	}
}

// A share that is asked for by variables is understood, and what cannot be is named.
func TestShares(t *testing.T) {
	half := .5
	for _, tt := range []struct {
		s           Settings
		sampler     string
		arg         string
		share       float64
		known, fail bool
	}{
		{}, {s: Settings{Sample: &half}, share: .5, known: true}, {s: Settings{Sample: &half}, sampler: "always_on", share: .5, known: true},
		{sampler: "parentbased_traceidratio", arg: "0.25", share: .25, known: true}, {sampler: "parentbased_traceidratio"},
		{sampler: "parentbased_traceidratio", arg: "2", fail: true}, {sampler: "parentbased_traceidratio", arg: "NaN", fail: true},
		{sampler: "traceidratio", arg: "0.25"}, {sampler: "always_on"},
	} {
		tt.s.Lookup = func(name string) (string, bool) {
			v := map[string]string{"OTEL_TRACES_SAMPLER": tt.sampler, "OTEL_TRACES_SAMPLER_ARG": tt.arg}[name]
			return v, v != ""
		}
		share, known, err := tt.s.share()
		if share != tt.share && !tt.fail || known != tt.known || (err != nil) != tt.fail {
			t.Errorf("%q %q is %v, %v, %v", tt.sampler, tt.arg, share, known, err)
		}
	}
}

// A share costs nothing but ids and a context for what is dropped.
func BenchmarkSample(b *testing.B) {
	sdk := func(s sdktrace.Sampler) *sdktrace.TracerProvider {
		return sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithIDGenerator(identities{}))
	}
	for name, p := range map[string]trace.TracerProvider{
		"here": newSampled(sdk(sdktrace.ParentBased(sdktrace.AlwaysSample())), .01), "sdk": sdk(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(.01))),
	} {
		tracer := telemetry.Tracer(p)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := context.Background()
			for b.Loop() {
				_, span := tracer.Start(ctx, "x")
				span.End()
			}
		})
	}
}
