package metrics

import (
	"testing"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// BenchmarkRecord measures what it costs to count one event and to record one value.
func BenchmarkRecord(b *testing.B) {
	sdk := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	for name, p := range map[string]metric.MeterProvider{"local": NewLocal(sdk), "sdk": sdk} {
		m := New(p)
		c, h := m.Counter(TasksEnded), m.Histogram(OperationDuration)
		b.Run("count/"+name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := b.Context()
			for b.Loop() {
				c.Add(ctx, 1, DefaultAgent, "completed")
			}
		})
		b.Run("measure/"+name, func(b *testing.B) {
			b.ReportAllocs()
			ctx := b.Context()
			for b.Loop() {
				h.Record(ctx, .003, "SendMessage", "JSONRPC", "1.0", "ok")
			}
		})
	}
}
