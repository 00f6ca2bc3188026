package webhook_test

import (
	"net/http"
	"net/url"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/parley-a2a/parley/internal/telemetry"
)

// A post names the span of its attempt, and the span has the outcome. Without a span no
// header names one.
func TestWebhookNamesItsSpan(t *testing.T) {
	in := newInbox(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) })
	s, n := localHooks(hookKeys()), noticeOf(t, "1.0", in.URL)
	s.Notify(t.Context(), n)
	spans := tracetest.NewInMemoryExporter()
	ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test").Start(t.Context(), "attempt")
	s.Notify(ctx, n)
	span.End()
	posts := in.got()
	parent, _ := telemetry.Format(span.SpanContext())
	if h := posts[0].header; h.Get("Traceparent") != "" || posts[1].header.Get("Traceparent") != parent {
		t.Errorf("got %q and %q, want none and %q", h.Get("Traceparent"), posts[1].header.Get("Traceparent"), parent)
	}
	at, _ := url.Parse(in.URL)
	got := attribute.NewSet(spans.GetSpans()[0].Attributes...)
	for key, want := range map[attribute.Key]string{
		telemetry.HTTPMethod: "POST", telemetry.HTTPStatus: "503", telemetry.ErrorType: "503",
		telemetry.ServerAddress: at.Hostname(), telemetry.ServerPort: at.Port(),
	} {
		if v, ok := got.Value(key); !ok || v.String() != want {
			t.Errorf("%s is %q, want %q", key, v.String(), want)
		}
	}
}
