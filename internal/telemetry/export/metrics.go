package export

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	goruntime "go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	promexporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// Bounds of scraping: a scrape reads everything, which many should not do at a time.
const (
	scrapesAtOnce = 4
	scrapeTime    = 10 * time.Second
)

// startMetrics builds the provider with its readers: for scraping, and for a collector.
func (t *Telemetry) startMetrics(ctx context.Context, s *Settings) error {
	on, err := s.wanted("METRICS")
	if err != nil || !on && !s.Scrape && !s.Keep {
		return err
	}
	res, err := s.resource(ctx)
	if err != nil {
		return err
	}
	options := []sdkmetric.Option{sdkmetric.WithResource(res)}
	ours := new(producer)
	if on {
		protocol, err := s.protocol("METRICS")
		if err != nil {
			return err
		}
		to, err := s.metricExporter(ctx, protocol)
		if err != nil {
			return fmt.Errorf("metrics cannot be sent by %s: %w", s.where("METRICS", protocol), err)
		}
		// Every OTEL_METRIC_EXPORT_INTERVAL, a minute by default.
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(to, sdkmetric.WithProducer(ours))))
	}
	if s.Scrape {
		registry := prometheus.NewRegistry()
		registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
		to, err := promexporter.New(promexporter.WithRegisterer(registry), promexporter.WithoutScopeInfo(), promexporter.WithProducer(ours))
		if err != nil {
			return fmt.Errorf("metrics cannot be offered: %w", err)
		}
		options = append(options, sdkmetric.WithReader(to))
		t.Scrape = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
			EnableOpenMetrics: true, // OpenMetrics has exemplars
			ErrorHandling:     promhttp.ContinueOnError, MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTime,
		})
	}
	if s.Keep {
		reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(ours))
		options = append(options, sdkmetric.WithReader(reader))
		t.Collect = reader.Collect
	}
	p := sdkmetric.NewMeterProvider(options...)
	t.MeterProvider = p
	if s.keepsOwn() {
		ours.of = metrics.NewLocal(p)
		t.MeterProvider = ours.of
	}
	t.stop = append(t.stop, p.Shutdown)
	if on || s.Scrape {
		if err := goruntime.Start(goruntime.WithMeterProvider(p)); err != nil {
			return fmt.Errorf("the metrics of Go itself are not available: %w", err)
		}
	}
	metrics.New(t.MeterProvider).Observe(func(_ context.Context, is metrics.Reading) {
		is.Set(metrics.BuildInfo, 1, s.Version, runtime.Version())
	}, metrics.BuildInfo)
	return nil
}

func (s *Settings) metricExporter(ctx context.Context, protocol string) (sdkmetric.Exporter, error) {
	if protocol == GRPC {
		return otlpmetricgrpc.New(ctx, target(s, "", otlpmetricgrpc.WithEndpointURL)...)
	}
	return otlpmetrichttp.New(ctx, target(s, "/v1/metrics", otlpmetrichttp.WithEndpointURL)...)
}

// producer gives the data of a metrics.Local to OpenTelemetry's readers.
type producer struct{ of *metrics.Local } // nil: no data

// keepsOwn reports whether a metrics.Local keeps counters and histograms. It has only
// their default form: cumulative, in the table's buckets, with exemplars of sampled
// traces. Otherwise OpenTelemetry's SDK does what the environment asks for.
func (s *Settings) keepsOwn() bool {
	_, asked := s.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION", "OTEL_METRICS_EXEMPLAR_FILTER")
	return asked == ""
}

// Produce implements sdkmetric.Producer.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	if p.of == nil {
		return nil, nil
	}
	now := time.Now()
	all := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: telemetry.Scope}}
	p.of.Read(func(m *metrics.Metric, points []metrics.Point) {
		one := metricdata.Metrics{Name: m.Name, Description: m.Help, Unit: m.Unit}
		if m.Kind == metrics.Histogram {
			h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
			for _, is := range points {
				to := metricdata.HistogramDataPoint[float64]{
					Attributes: is.Labels, StartTime: p.of.Began, Time: now, Bounds: m.Buckets, BucketCounts: is.Buckets, Sum: is.Sum,
				}
				for _, n := range is.Buckets {
					to.Count += n
				}
				for _, e := range is.Exemplars {
					id, span := e.Span.TraceID(), e.Span.SpanID()
					to.Exemplars = append(to.Exemplars, metricdata.Exemplar[float64]{Time: e.Time, Value: e.Value, TraceID: id[:], SpanID: span[:]})
				}
				h.DataPoints = append(h.DataPoints, to)
			}
			one.Data = h
		} else {
			sum := metricdata.Sum[int64]{Temporality: metricdata.CumulativeTemporality, IsMonotonic: m.Kind == metrics.Counter}
			for _, is := range points {
				sum.DataPoints = append(sum.DataPoints, metricdata.DataPoint[int64]{Attributes: is.Labels, StartTime: p.of.Began, Time: now, Value: is.Value})
			}
			one.Data = sum
		}
		all.Metrics = append(all.Metrics, one)
	})
	return []metricdata.ScopeMetrics{all}, nil
}
