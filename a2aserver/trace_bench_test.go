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
	"github.com/parley-a2a/parley/store"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// nowhere discards spans at once, so the benchmark measures only how they are made.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

// What tracing costs a call that makes a task, in memory and without a network: nothing
// else of it could be less.
func BenchmarkTracing(b *testing.B) {
	for _, bench := range []struct {
		name  string
		share float64 // below 0: off
	}{{"off", -1}, {"1%", 0.01}, {"all", 1}} {
		b.Run(bench.name, func(b *testing.B) {
			eo, so := &engine.Options{}, &a2aserver.Options{}
			if bench.share >= 0 {
				p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(nowhere{}), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(bench.share))))
				defer p.Shutdown(context.Background()) //nolint:errcheck // of nowhere
				eo.TracerProvider, so.TracerProvider = p, p
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
