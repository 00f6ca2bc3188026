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

// The configured share of the traces that begin here is kept, each as a whole; traces
// that began elsewhere are kept if they were sampled there. A dropped trace has ids
// too, so that the servers that are called drop it as well.
func TestAShareOfTracesIsKept(t *testing.T) {
	const n, part = 20_000, 0.05
	got := tracetest.NewSpanRecorder()
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(got), sdktrace.WithIDGenerator(identities{}))
	p := newSampled(sdk, newShare(part, false))
	tracer := telemetry.Tracer(p)
	for range n {
		ctx, root := tracer.Start(t.Context(), "root")
		below, child := telemetry.Start(ctx, "child", trace.SpanKindInternal)
		if is := root.SpanContext(); !is.IsValid() || is.IsSampled() != root.IsRecording() || child.SpanContext().TraceID() != is.TraceID() || child.IsRecording() != root.IsRecording() ||
			root.IsRecording() && child.SpanContext().SpanID() == is.SpanID() {
			t.Fatalf("the root is %v, its child %v", is, child.SpanContext())
		}
		if parent, _ := telemetry.Outgoing(below); telemetry.SpanContext(parent, "").SpanID() != child.SpanContext().SpanID() {
			t.Fatalf("what is called gets %q", parent)
		}
		child.End()
		root.End()
	}
	kept := len(got.Ended())
	if want := 2 * n * part; math.Abs(float64(kept)-want) > want/5 {
		t.Errorf("%d spans are kept, want some %v", kept, want)
	}
	for flags, want := range map[trace.TraceFlags]bool{0: false, trace.FlagsSampled: true} {
		for _, all := range []bool{false, true} { // whether the share is also of those
			parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 8: 0xff}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true})
			_, span := telemetry.Tracer(newSampled(sdk, newShare(part, all))).Start(trace.ContextWithSpanContext(t.Context(), parent), "x")
			want := want && !all
			if is := span.SpanContext(); span.IsRecording() != want || is.TraceID() != parent.TraceID() || is.SpanID() == parent.SpanID() || is.IsSampled() != want {
				t.Errorf("below %v is %v", parent, is)
			}
		}
	}
}

// The first span of a trace gets the ids from its context: it is written for a process
// that was killed, and other spans name it as their parent.
func TestASampledSpanHasTheIDsThatItIsTold(t *testing.T) {
	sdk := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithIDGenerator(identities{}))
	is := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	_, span := telemetry.Tracer(newSampled(sdk, newShare(1, false))).Start(telemetry.WithIdentity(t.Context(), is), "lost")
	if got := span.SpanContext(); got.TraceID() != is.TraceID() || got.SpanID() != is.SpanID() || !span.IsRecording() {
		t.Errorf("the span is %v, want %v", got, is)
	}
}

// A share from variables is read, and one that cannot be used is named in the error.
func TestShares(t *testing.T) {
	half := .5
	for _, tt := range []struct {
		s           Settings
		sampler     string
		arg         string
		part        float64
		all         bool
		known, fail bool
	}{
		{}, {s: Settings{Sample: &half}, part: .5, known: true}, {s: Settings{Sample: &half}, sampler: "always_on", part: .5, known: true},
		{sampler: "parentbased_traceidratio", arg: "0.25", part: .25, known: true}, {sampler: "parentbased_traceidratio"},
		{sampler: "parentbased_traceidratio", arg: "2", fail: true}, {sampler: "parentbased_traceidratio", arg: "NaN", fail: true},
		{sampler: "traceidratio", arg: "0.25", part: .25, all: true, known: true}, {sampler: "traceidratio"}, {sampler: "always_on"},
	} {
		tt.s.Lookup = func(name string) (string, bool) {
			v := map[string]string{"OTEL_TRACES_SAMPLER": tt.sampler, "OTEL_TRACES_SAMPLER_ARG": tt.arg}[name]
			return v, v != ""
		}
		part, known, err := tt.s.share()
		if part != newShare(tt.part, tt.all) && known || known != tt.known || (err != nil) != tt.fail {
			t.Errorf("%q %q is %v, %v, %v", tt.sampler, tt.arg, part, known, err)
		}
	}
}

// A dropped trace costs only ids and a context.
func BenchmarkSample(b *testing.B) {
	sdk := func(s sdktrace.Sampler) *sdktrace.TracerProvider {
		return sdktrace.NewTracerProvider(sdktrace.WithSampler(s), sdktrace.WithIDGenerator(identities{}))
	}
	for name, p := range map[string]trace.TracerProvider{
		"here": newSampled(sdk(sdktrace.AlwaysSample()), newShare(.01, false)), "sdk": sdk(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(.01))),
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
