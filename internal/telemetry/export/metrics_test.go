package export

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// everything records one value for each metric of the table, with all its labels.
func everything(ctx context.Context, t *testing.T, m *metrics.Meter) {
	t.Helper()
	gauges := map[*metrics.Metric][]string{}
	for _, row := range metrics.Table {
		labels := make([]string, len(row.Labels))
		for i, l := range row.Labels {
			if labels[i] = "any"; len(l.Values) > 0 {
				labels[i] = l.Values[0]
			}
		}
		switch row.Kind {
		case metrics.Histogram:
			m.Histogram(row).Record(ctx, 0.02, labels...)
		case metrics.Gauge:
			gauges[row] = labels
		default:
			m.Counter(row).Add(ctx, 3, labels...)
		}
	}
	delete(gauges, metrics.BuildInfo) // Start sets it
	t.Cleanup(m.Observe(func(_ context.Context, is metrics.Reading) {
		for row, labels := range gauges {
			is.Set(row, 7, labels...)
		}
	}, slices.Collect(maps.Keys(gauges))...))
}

func scrape(t *testing.T, from http.Handler, accept string) string {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", accept)
	from.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// A scrape returns the metrics of the table: each by its name, with its kind, help and
// labels, and names as Prometheus's linter wants them.
func TestScrapeIsTheTable(t *testing.T) {
	tel, err := Start(t.Context(), Settings{Service: "parley", Version: "1.2.3", Scrape: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tel.Shutdown(context.Background()) }()
	everything(t.Context(), t, metrics.New(tel.MeterProvider))
	text := scrape(t, tel.Scrape, "text/plain")
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[metrics.Kind]dto.MetricType{
		metrics.Counter: dto.MetricType_COUNTER, metrics.Histogram: dto.MetricType_HISTOGRAM, metrics.Gauge: dto.MetricType_GAUGE, metrics.UpDown: dto.MetricType_GAUGE,
	}
	ours := map[string]bool{}
	for _, row := range metrics.Table {
		name := row.Prometheus()
		ours[name] = true
		f := families[name]
		switch {
		case f == nil:
			t.Errorf("%s is not scraped as %s", row.Name, name)
			continue
		case f.GetType() != kinds[row.Kind]:
			t.Errorf("%s is a %v", name, f.GetType())
		case f.GetHelp() != row.Help:
			t.Errorf("%s has the help %q", name, f.GetHelp())
		}
		has := map[string]bool{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			has[l.GetName()] = true
		}
		for _, l := range row.Labels {
			if !has[l.Prometheus()] {
				t.Errorf("%s has no label %s", name, l.Prometheus())
			}
		}
		if len(has) != len(row.Labels) {
			t.Errorf("%s has the labels %v", name, has)
		}
	}
	for _, p := range problems {
		if ours[p.Metric] {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for name := range families {
		if strings.HasPrefix(name, "parley_") && !ours[name] {
			t.Errorf("%s is not in the table", name)
		}
	}
	for _, name := range []string{"go_goroutine_count", "process_cpu_seconds_total", "target_info"} {
		if families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

// A value that is measured within a sampled trace names it.
func TestExemplars(t *testing.T) {
	tel, err := Start(t.Context(), Settings{Service: "parley", Scrape: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tel.Shutdown(context.Background()) }()
	ctx, span := sdktrace.NewTracerProvider().Tracer("").Start(t.Context(), "x")
	defer span.End()
	metrics.New(tel.MeterProvider).Histogram(metrics.CommitDuration).Record(ctx, 0.003)
	text := scrape(t, tel.Scrape, "application/openmetrics-text; version=1.0.0")
	if want := `trace_id="` + span.SpanContext().TraceID().String() + `"`; !strings.Contains(text, want) {
		t.Errorf("no exemplar has %s:\n%s", want, text)
	}
}

// Values that the table does not have cannot make new series.
func TestLabelsAreBounded(t *testing.T) {
	tel, err := Start(t.Context(), Settings{Service: "parley", Scrape: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tel.Shutdown(context.Background()) }()
	c := metrics.New(tel.MeterProvider).Counter(metrics.AuthFailures)
	for _, reason := range []string{"missing", "made up", "another"} {
		c.Add(t.Context(), 1, reason)
	}
	text := scrape(t, tel.Scrape, "text/plain")
	for _, want := range []string{`parley_auth_failures_total{reason="missing"} 1`, `parley_auth_failures_total{reason="other"} 2`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing:\n%s", want, text)
		}
	}
}

// Metrics go to a collector if OTEL_* or the settings name one, and if it is away only
// the metrics are lost.
func TestMetricsAreSent(t *testing.T) {
	got := make(chan []byte, 8)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_, _ = b.ReadFrom(http.MaxBytesReader(w, r.Body, 1<<20))
		if r.URL.Path == "/v1/metrics" {
			got <- b.Bytes()
		}
	}))
	defer collector.Close()
	tel, err := Start(t.Context(), Settings{Service: "parley", Endpoint: collector.URL})
	if err != nil {
		t.Fatal(err)
	}
	if tel.Scrape != nil {
		t.Error("metrics can be scraped")
	}
	metrics.New(tel.MeterProvider).Counter(metrics.WebhookDead).Add(t.Context(), 1)
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case b := <-got:
		if !bytes.Contains(b, []byte("parley.webhook.dead_letters")) {
			t.Errorf("the collector got %d bytes without the metric", len(b))
		}
	default:
		t.Error("the collector got nothing")
	}
	off, err := Start(t.Context(), Settings{Service: "parley"})
	if err != nil || off.MeterProvider != nil {
		t.Errorf("nothing asks for metrics, and there are some: %v", err)
	}
}
