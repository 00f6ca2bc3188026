package a2aserver_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/a2aserver"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/telemetry/export"
	"github.com/parley-a2a/parley/store"
)

// BenchmarkTracing measures what tracing costs a call that makes a task, in memory and
// without a network, which is the cheapest call there can be. Spans go to a collector,
// as those of parley serve do.
func BenchmarkTracing(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer collector.Close()
	noMetrics := func(name string) (string, bool) { return "none", name == "OTEL_METRICS_EXPORTER" }
	for _, bench := range []struct {
		name  string
		share float64 // negative: off
	}{{"off", -1}, {"1%", 0.01}, {"all", 1}} {
		b.Run(bench.name, func(b *testing.B) {
			eo, so := &engine.Options{}, &a2aserver.Options{}
			if bench.share >= 0 {
				t, err := export.Start(b.Context(), export.Settings{Endpoint: collector.URL, Sample: &bench.share, Lookup: noMetrics})
				if err != nil {
					b.Fatal(err)
				}
				defer t.Shutdown(context.Background()) //nolint:errcheck // spans may be lost
				eo.TracerProvider, so.TracerProvider = t.TracerProvider, t.TracerProvider
			}
			card := &a2a.AgentCard{Name: "bench", Version: "1"}
			e := engine.New(store.NewMemory(), agent.Func(func(_ context.Context, t *agent.Turn) error { return t.Complete("done") }), card, eo)
			ctx, stop := context.WithCancel(context.Background())
			ran := make(chan error, 1)
			go func() { ran <- e.Run(ctx) }()
			defer func() { stop(); <-ran }()
			h := a2aserver.New(e, card, so)
			const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`
			for b.Loop() {
				r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if out, _ := io.ReadAll(w.Body); w.Code != http.StatusOK || !strings.Contains(string(out), "COMPLETED") {
					b.Fatalf("%d %s", w.Code, out)
				}
			}
		})
	}
}
