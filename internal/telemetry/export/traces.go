package export

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// maxValue is how long an attribute may be, in characters, unless
// OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT says: the queue bounds only the number of
// spans, and clients choose ids.
const maxValue = 16 << 10

func (t *Telemetry) startTraces(ctx context.Context, s *Settings, report *reporter) error {
	if on, err := s.wanted("TRACES"); err != nil || !on {
		return err
	}
	protocol, err := s.protocol("TRACES")
	if err != nil {
		return err
	}
	to, err := s.traceExporter(ctx, protocol)
	if err != nil {
		return fmt.Errorf("traces cannot be sent by %s: %w", s.where("TRACES", protocol), err)
	}
	res, err := s.resource(ctx)
	if err != nil {
		return err
	}
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxValue
	}
	out := newOutlet(to, report)
	options := append(sendTo(out), sdktrace.WithResource(res), sdktrace.WithRawSpanLimits(limits))
	part, known, err := s.share()
	if err != nil {
		return err
	}
	if known {
		options = append(options, sdktrace.WithSampler(sdktrace.AlwaysSample()))
	}
	p := sdktrace.NewTracerProvider(options...)
	t.TracerProvider, t.Traces = p, s.where("TRACES", protocol)
	if known {
		t.TracerProvider = newSampled(p, part)
	}
	t.stop = append(t.stop, func(ctx context.Context) error {
		defer context.AfterFunc(ctx, out.end)()
		return p.Shutdown(ctx)
	})
	return nil
}

// sendTo returns the options by which ended spans get to an outlet: through a queue
// that holds OTEL_BSP_MAX_QUEUE_SIZE of them, 2048 by default, and drops the rest.
func sendTo(out *outlet) []sdktrace.TracerProviderOption {
	return []sdktrace.TracerProviderOption{sdktrace.WithBatcher(out), sdktrace.WithIDGenerator(identities{})}
}

func (s *Settings) traceExporter(ctx context.Context, protocol string) (sdktrace.SpanExporter, error) {
	if protocol == GRPC {
		return otlptracegrpc.New(ctx, target(s, "", otlptracegrpc.WithEndpointURL)...)
	}
	return otlptracehttp.New(ctx, target(s, "/v1/traces", otlptracehttp.WithEndpointURL)...)
}

// target returns the collector's address as an option of an exporter, if it is set;
// route is the path at which a collector accepts the signal over HTTP.
func target[O any](s *Settings, route string, endpoint func(string) O) (o []O) {
	if s.Endpoint != "" {
		o = append(o, endpoint(strings.TrimRight(s.Endpoint, "/")+route))
	}
	return o
}

// plainURL returns a URL without its secrets.
func plainURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "an address that is not a URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
