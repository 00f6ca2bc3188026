package openai_test

import (
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/parley-a2a/parley/agent/openai"
	"github.com/parley-a2a/parley/agent/openai/openaitest"
)

func TestTokensAreCounted(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	w := newWorld(t, openaitest.New(openaitest.Text("one ", "two")), &openai.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	w.say("hello")
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			h, ok := m.Data.(metricdata.Histogram[float64])
			if !ok || m.Name != "gen_ai.client.token.usage" {
				continue
			}
			for _, p := range h.DataPoints {
				model, _ := p.Attributes.Value("gen_ai.request.model")
				kind, _ := p.Attributes.Value("gen_ai.token.type")
				got[model.AsString()+" "+kind.AsString()] += p.Sum
			}
		}
	}
	if got["fake-1 input"] == 0 || got["fake-1 output"] == 0 {
		t.Errorf("counted were %v", got)
	}
}
