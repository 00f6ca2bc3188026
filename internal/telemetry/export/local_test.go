package export

import (
	"context"
	"regexp"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// Whether counters and histograms are kept here or by OpenTelemetry's SDK, a scrape has
// the same values, except for exemplars of counters.
func TestKeptHereOrByTheSDK(t *testing.T) {
	ctx, span := sdktrace.NewTracerProvider().Tracer("").Start(t.Context(), "x")
	defer span.End()
	read := func(lookup func(string) (string, bool)) string {
		s := Settings{Service: "parley", Scrape: true, Lookup: lookup}
		tel, err := Start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tel.Shutdown(context.Background()) }()
		if _, ours := tel.MeterProvider.(*metrics.Local); ours != (lookup == nil) {
			t.Fatalf("the provider is a %T", tel.MeterProvider)
		}
		one, two := metrics.New(tel.MeterProvider), metrics.New(tel.MeterProvider) // as of an engine and a server
		everything(ctx, t, one)
		h := two.Histogram(metrics.OperationDuration)
		for _, v := range []float64{0, .0005, .00051, 7, 300, 1e6} { // on a bound, next to it, beyond all
			h.Record(t.Context(), v, "GetTask", "GRPC", "1.0", "ok")
			h.Record(t.Context(), v, "any", "JSONRPC", "any", "any")
		}
		streams := two.Counter(metrics.StreamsActive)
		streams.Add(ctx, 2, "GRPC")
		streams.Add(ctx, -1, "JSONRPC")
		var ours []string
		for line := range strings.Lines(scrape(t, tel.Scrape, "application/openmetrics-text; version=1.0.0")) {
			if strings.Contains(line, "parley") || strings.Contains(line, "a2a") || strings.Contains(line, "gen_ai") {
				// The order of an exemplar's two labels is random.
				line = regexp.MustCompile(`,?span_id="[0-9a-f]*",?`).ReplaceAllString(line, "")
				if !strings.Contains(line, "_bucket{") {
					line, _, _ = strings.Cut(line, " # ") // only histograms have exemplars here
				}
				ours = append(ours, regexp.MustCompile(`(#.*) [0-9.e+]+$|(_created\S*) .*$`).ReplaceAllString(strings.TrimSpace(line), "$1$2"))
			}
		}
		return strings.Join(ours, "\n")
	}
	here := read(nil)
	if sdk := read(env("OTEL_METRICS_EXEMPLAR_FILTER", "trace_based")); here != sdk {
		h, s := strings.Split(here, "\n"), strings.Split(sdk, "\n")
		for i := range min(len(h), len(s)) {
			if h[i] != s[i] {
				t.Fatalf("line %d is\n%s\nhere, and of the SDK\n%s", i, h[i], s[i])
			}
		}
		t.Fatalf("%d lines here, %d of the SDK", len(h), len(s))
	}
	if !strings.Contains(here, "trace_id") || strings.Count(here, "\n") < 200 {
		t.Errorf("it compares\n%s", here)
	}
}

func env(name, value string) func(string) (string, bool) {
	return func(n string) (string, bool) { return value, n == name }
}
