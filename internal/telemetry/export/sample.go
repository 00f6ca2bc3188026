package export

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/parley-a2a/parley/internal/telemetry"
)

// sampled keeps a share of the traces, and decides before the SDK sees a span: a
// dropped span then costs a fraction of one that the SDK makes and drops.
type sampled struct {
	embedded.TracerProvider
	of trace.TracerProvider // keeps every span
	share
}

// share is the part of the traces that is kept: of those that begin here, or of all.
type share struct {
	below uint64 // of the trace's id, as in the SDK's TraceIDRatioBased
	all   bool   // of traces that began elsewhere, too; otherwise these are kept if they were kept there
}

func newShare(part float64, all bool) share { return share{uint64(part * (1 << 63)), all} }

func (s share) keeps(parent trace.SpanContext, id trace.TraceID) bool {
	if parent.IsValid() && !s.all {
		return parent.IsSampled()
	}
	return binary.BigEndian.Uint64(id[8:])>>1 < s.below
}

func newSampled(of trace.TracerProvider, part share) *sampled { return &sampled{of: of, share: part} }

// Tracer implements trace.TracerProvider.
func (s *sampled) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	return &sampledTracer{Tracer: s.of.Tracer(name, o...), share: s.share}
}

// sampledTracer is a telemetry.Sampler.
type sampledTracer struct {
	trace.Tracer
	share
}

// Sample implements telemetry.Sampler.
func (t *sampledTracer) Sample(parent trace.SpanContext) (is trace.SpanContext, kept trace.Tracer) {
	c := trace.SpanContextConfig{TraceID: parent.TraceID(), SpanID: newSpanID(), TraceState: parent.TraceState()}
	if !parent.IsValid() {
		c.TraceID = newTraceID()
	}
	if t.keeps(parent, c.TraceID) {
		kept = t.Tracer
	}
	return trace.NewSpanContext(c), kept
}

// Start implements trace.Tracer.
func (t *sampledTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if is, told := telemetry.Identity(ctx); told && t.keeps(trace.SpanContextFromContext(ctx), is.TraceID()) {
		return t.Tracer.Start(ctx, name, o...) // with these ids
	}
	ctx, span, is := telemetry.Begin(ctx, t, name, func() []trace.SpanStartOption { return o })
	if span == nil {
		ctx = trace.ContextWithSpanContext(ctx, is)
		span = trace.SpanFromContext(ctx)
	}
	return ctx, span
}

// share returns the part of the traces that is kept, if nothing else has to be decided.
// The SDK handles all other values of OTEL_TRACES_SAMPLER.
func (s *Settings) share() (part share, ok bool, err error) {
	if s.Sample != nil {
		return newShare(*s.Sample, false), true, nil
	}
	name, _ := s.get("OTEL_TRACES_SAMPLER")
	if name != "parentbased_traceidratio" && name != "traceidratio" {
		return share{}, false, nil
	}
	arg, from := s.get("OTEL_TRACES_SAMPLER_ARG")
	n, err := strconv.ParseFloat(arg, 64)
	if from != "" && (err != nil || !(n >= 0 && n <= 1)) {
		return share{}, false, fmt.Errorf("%s is %q: expected a number from 0 to 1", from, arg)
	}
	return newShare(n, name == "traceidratio"), from != "", nil
}

// identities makes the ids of spans: random ones, except those that the context names.
type identities struct{}

func (identities) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if c, ok := telemetry.Identity(ctx); ok && c.IsValid() {
		return c.TraceID(), c.SpanID()
	}
	return newTraceID(), newSpanID()
}

func (identities) NewSpanID(ctx context.Context, in trace.TraceID) trace.SpanID {
	if c, ok := telemetry.Identity(ctx); ok && c.IsValid() && c.TraceID() == in {
		return c.SpanID()
	}
	return newSpanID()
}

func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
