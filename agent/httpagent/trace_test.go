package httpagent

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/store"
)

// Each request has a client's span, which the service gets as its parent.
func TestRequestsHaveSpans(t *testing.T) {
	s := serve(t, func(p *post) {
		if p.n == 1 {
			p.say(503, "text/plain", "busy")
			return
		}
		p.event("", `{"type":"artifact","text":"done"}`)
		p.event("", `{"type":"complete"}`)
	})
	spans := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")
	ag, err := New(strings.Replace(s.URL, "http://", "http://user:hush@", 1)+"/agent?key=hush", nil)
	if err != nil {
		t.Fatal(err)
	}
	ag.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	st := store.NewMemory()
	defer st.Close()
	e := engine.New(st, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
		ctx, span := tracer.Start(ctx, "run")
		defer span.End()
		return ag.Run(ctx, turn)
	}), &a2a.AgentCard{Name: "test"}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	_, err = e.SendMessage(t.Context(), message("x"))
	cancel()
	<-ran // the run's span ends behind the task
	if err != nil {
		t.Fatal(err)
	}
	at, _ := url.Parse(s.URL)
	common := fmt.Sprintf("http.request.method=POST server.address=127.0.0.1 server.port=%s url.full=%s/agent", at.Port(), s.URL)
	want := []string{
		"POST client Error " + common + " error.type=503 http.response.status_code=503",
		"POST client Unset " + common + " http.request.resend_count=1 http.response.status_code=200",
	}
	for i, span := range spans.GetSpans().Snapshots() {
		if span.Name() == "run" {
			continue
		}
		var attrs []string
		set := attribute.NewSet(span.Attributes()...)
		for _, kv := range set.ToSlice() {
			attrs = append(attrs, string(kv.Key)+"="+kv.Value.String())
		}
		words := strings.Fields(want[i])[3:]
		slices.Sort(words)
		slices.Sort(attrs)
		if got := fmt.Sprintf("%s %s %s", span.Name(), span.SpanKind(), span.Status().Code); !strings.HasPrefix(want[i], got) || !slices.Equal(words, attrs) {
			t.Errorf("%s %v, want %v", got, attrs, words)
		}
		parent, _ := telemetry.Format(span.SpanContext())
		if h := s.got()[i].Request.Header; h.Get("Traceparent") != parent {
			t.Errorf("the service got the traceparent %q, want %q", h.Get("Traceparent"), parent)
		}
	}
	if n := len(spans.GetSpans()); n != 3 {
		t.Errorf("%d spans", n)
	}
}
