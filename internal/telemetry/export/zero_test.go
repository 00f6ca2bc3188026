package export

import (
	"context"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/telemetry/metrics"
)

// A counter is exported before its first event: Prometheus finds no increase in a
// series that begins with it, and an alert on the first dead letter would stay silent.
func TestCountersBeginAtZero(t *testing.T) {
	tel, err := Start(t.Context(), Settings{Scrape: true, Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer tel.Shutdown(context.WithoutCancel(t.Context()))
	m := metrics.New(tel.MeterProvider)
	m.Counter(metrics.WebhookDead)
	m.Counter(metrics.AuthFailures)
	m.Counter(metrics.StreamsActive) // which can decrease too
	got := scrape(t, tel.Scrape, "text/plain")
	for _, want := range []string{"parley_webhook_dead_letters_total 0\n", `parley_auth_failures_total{reason="invalid"} 0` + "\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
