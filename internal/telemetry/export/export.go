package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
)

// Settings are an operator's settings for telemetry besides OTEL_*. A field that is set
// takes precedence over OTEL_*, except Service and Version. The zero value leaves all
// to OTEL_*.
type Settings struct {
	// Endpoint is the URL of an OTLP collector, as OTEL_EXPORTER_OTLP_ENDPOINT, with
	// http:// for plain connections. It switches telemetry on.
	Endpoint string
	// Protocol is GRPC or HTTP. Empty means what OTEL_EXPORTER_OTLP_PROTOCOL says, or HTTP.
	Protocol string
	// Sample is the share of the traces beginning here that is kept, from 0 to 1. A
	// trace that began elsewhere is kept if it was kept there. Nil means what
	// OTEL_TRACES_SAMPLER says, or all.
	Sample *float64
	// Service and Version are the name and the version of the service, unless
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES set them.
	Service, Version string
	// Scrape keeps metrics to be scraped: see Telemetry.Scrape.
	Scrape bool
	// Keep keeps metrics for this process itself: see Telemetry.Collect.
	Keep bool
	// Lookup finds environment variables that decide whether telemetry is on. Nil finds
	// none. The exporters read os.Getenv.
	Lookup func(name string) (string, bool)
	// Logger gets a line, once a minute at most, when telemetry cannot be sent. Nil discards.
	Logger *slog.Logger
}

// Values of Settings.Protocol, as OTEL_EXPORTER_OTLP_PROTOCOL has them.
const (
	GRPC = "grpc"
	HTTP = "http/protobuf"
)

// Telemetry has the parts that are switched on. The zero value is off.
type Telemetry struct {
	// TracerProvider makes the spans. Nil: no traces.
	TracerProvider trace.TracerProvider
	// Traces says where they go, for people: "http/protobuf to http://127.0.0.1:4318".
	// It has no secrets. Empty: no traces.
	Traces string
	// MeterProvider makes the instruments. Nil: nothing is measured.
	MeterProvider metric.MeterProvider
	// Scrape serves all metrics in the formats of Prometheus, to everybody. Nil without
	// Settings.Scrape.
	Scrape http.Handler
	// Collect reads all metrics as they are now. Nil without Settings.Keep.
	Collect func(ctx context.Context, to *metricdata.ResourceMetrics) error

	stop []func(context.Context) error
}

// Start builds what the settings and the environment ask for. It does not connect yet:
// the log shows whether a collector is there. An error names the setting or the
// variable that cannot be used. The caller must call Shutdown.
func Start(ctx context.Context, s Settings) (*Telemetry, error) {
	t := new(Telemetry)
	if disabled, _ := s.get("OTEL_SDK_DISABLED"); strings.EqualFold(disabled, "true") {
		return t, nil
	}
	report := newReporter(s.Logger)
	if err := t.startTraces(ctx, &s, report); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	if err := t.startMetrics(ctx, &s); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	if len(t.stop) > 0 {
		// OpenTelemetry reports errors behind its interfaces to a handler of the whole
		// process. This one only writes to the log.
		otel.SetErrorHandler(report)
	}
	return t, nil
}

// Shutdown sends what is waiting, for as long as ctx lasts, and gives up the rest.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	var errs []error
	for _, stop := range t.stop {
		errs = append(errs, stop(ctx))
	}
	t.stop = nil
	return errors.Join(errs...)
}

// get reads a variable; an empty one counts as not set, as for all OTEL_*.
func (s *Settings) get(names ...string) (value, name string) {
	if s.Lookup == nil {
		return "", ""
	}
	for _, name := range names {
		if v, ok := s.Lookup(name); ok && strings.TrimSpace(v) != "" {
			return strings.TrimSpace(v), name
		}
	}
	return "", ""
}

// protocol returns the protocol by which a signal, TRACES or METRICS, is sent to its
// collector.
func (s *Settings) protocol(signal string) (string, error) {
	p, from := s.Protocol, "telemetry.protocol"
	if p == "" {
		p, from = s.get("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch p {
	case "":
		return HTTP, nil
	case GRPC, HTTP, "http/json":
		return p, nil
	}
	return "", fmt.Errorf("%s is %q: expected %s or %s", from, p, HTTP, GRPC)
}

// wanted reports whether a signal is to be exported: its exporter is otlp, or none is
// named and there is an endpoint.
func (s *Settings) wanted(signal string) (bool, error) {
	name, from := s.get("OTEL_" + signal + "_EXPORTER")
	at, some := s.get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	switch name {
	case "none":
		return false, nil
	case "otlp", "":
		// The exporters take no credentials from it, and quote it whole if it is no
		// URL.
		if u, err := url.Parse(at); s.Endpoint == "" && (err != nil || u.Host == "") && strings.ContainsAny(at, "@?") {
			return false, fmt.Errorf("%s is not a URL: expected one without credentials, such as http://127.0.0.1:4318; OTEL_EXPORTER_OTLP_HEADERS has those", some)
		}
		return name != "" || s.Endpoint != "" || some != "", nil
	}
	return false, fmt.Errorf("%s is %q: expected otlp or none", from, name)
}

// where returns where a signal is sent, without what may be secret in a URL.
func (s *Settings) where(signal, protocol string) string {
	at := s.Endpoint
	if at == "" {
		at, _ = s.get("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	if at == "" {
		at = map[bool]string{true: "http://localhost:4317", false: "http://localhost:4318"}[protocol == GRPC]
	}
	return protocol + " to " + plainURL(at)
}

// resource describes the process that telemetry comes from.
func (s *Settings) resource(ctx context.Context) (*resource.Resource, error) {
	attrs := []attribute.KeyValue{attribute.String("service.name", s.Service)}
	if s.Version != "" {
		attrs = append(attrs, attribute.String("service.version", s.Version))
	}
	// The environment comes last, because it takes precedence.
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(), resource.WithAttributes(attrs...), resource.WithFromEnv())
	if err != nil && (r == nil || !errors.Is(err, resource.ErrPartialResource)) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return r, nil
}
