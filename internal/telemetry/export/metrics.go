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
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// Bounds of scraping: a scrape reads all there is, which should not be done by many
// at a time.
const (
	scrapesAtOnce = 4
	scrapeTime    = 10 * time.Second
)

// startMetrics builds the provider with its readers: for those who scrape, and for a
// collector.
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
		t.Metrics = s.where("METRICS", protocol)
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
			EnableOpenMetrics: true, // which has exemplars
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
			return fmt.Errorf("the metrics of Go itself cannot be had: %w", err)
		}
	}
	metrics.New(t.MeterProvider).Observe(func(_ context.Context, is metrics.Reading) {
		is.Set(metrics.BuildInfo, 1, s.Version, runtime.Version())
	}, metrics.BuildInfo)
	return nil
}

func (s *Settings) metricExporter(ctx context.Context, protocol string) (sdkmetric.Exporter, error) {
	if protocol == GRPC {
		return otlpmetricgrpc.New(ctx, target(s, "", otlpmetricgrpc.WithEndpointURL, otlpmetricgrpc.WithHeaders)...)
	}
	return otlpmetrichttp.New(ctx, target(s, "/v1/metrics", otlpmetrichttp.WithEndpointURL, otlpmetrichttp.WithHeaders)...)
}
