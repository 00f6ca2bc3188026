package export

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// producer hands what a metrics.Local has to OpenTelemetry's readers.
type producer struct{ of *metrics.Local } // nil: nothing

// keepsOwn reports whether counters and histograms are kept by a metrics.Local, which
// has them as they are by default: cumulative, in the table's buckets, with exemplars of
// sampled traces. Otherwise OpenTelemetry's SDK does what the environment asks for.
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
