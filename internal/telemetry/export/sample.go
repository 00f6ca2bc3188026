package export

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/parley-a2a/parley/internal/telemetry"
)

// sampled keeps a share of the traces that begin here, and of others those that were
// kept where they began. It decides before the SDK sees a span, at half the cost of one
// that the SDK makes and drops.
type sampled struct {
	embedded.TracerProvider
	of    trace.TracerProvider // keeps every trace that begins here
	below uint64
}

func newSampled(of trace.TracerProvider, share float64) *sampled {
	return &sampled{of: of, below: uint64(share * (1 << 63))} // as the SDK's TraceIDRatioBased
}

// Tracer implements trace.TracerProvider.
func (s *sampled) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	return &sampledTracer{Tracer: s.of.Tracer(name, o...), below: s.below}
}

type sampledTracer struct {
	trace.Tracer
	below uint64
}

// Start implements trace.Tracer.
func (t *sampledTracer) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanContextFromContext(ctx)
	if parent.IsSampled() {
		return t.Tracer.Start(ctx, name, o...)
	}
	dropped := trace.SpanContextConfig{TraceID: parent.TraceID(), TraceState: parent.TraceState()}
	if parent.IsValid() {
		dropped.SpanID = identities{}.NewSpanID(ctx, dropped.TraceID)
	} else {
		dropped.TraceID, dropped.SpanID = identities{}.NewIDs(ctx)
		if binary.BigEndian.Uint64(dropped.TraceID[8:])>>1 < t.below {
			return t.Tracer.Start(telemetry.WithIdentity(ctx, trace.NewSpanContext(dropped)), name, o...)
		}
	}
	ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(dropped))
	return ctx, trace.SpanFromContext(ctx)
}

// share is which part of the traces that begin here is kept, where that is all there is
// to decide. Anything else that OTEL_TRACES_SAMPLER can say is the SDK's business.
func (s *Settings) share() (share float64, ok bool, err error) {
	if s.Sample != nil {
		return *s.Sample, true, nil
	}
	if name, _ := s.get("OTEL_TRACES_SAMPLER"); name != "parentbased_traceidratio" {
		return 0, false, nil
	}
	arg, from := s.get("OTEL_TRACES_SAMPLER_ARG")
	share, err = strconv.ParseFloat(arg, 64)
	if from != "" && (err != nil || !(share >= 0 && share <= 1)) {
		return 0, false, fmt.Errorf("%s is %q: expected a number from 0 to 1", from, arg)
	}
	return share, from != "", nil
}

var keepAll = sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample()))
