package telemetry

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Start begins a child of the context's span, with the provider of that span. If the
// context has no span, telemetry is off; if its span is not kept, neither is the trace.
// In both cases Start returns the context as it is, with a span that does nothing.
// Build attributes that cost something only if span.IsRecording.
func Start(ctx context.Context, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, parent
	}
	return Tracer(parent.TracerProvider()).Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
}

// Sampler is a tracer that decides whether a span is kept before it is begun.
type Sampler interface {
	trace.Tracer
	// Sample decides on a span below parent, which is not valid if there is none. kept
	// is nil if the span is dropped, and otherwise the tracer that begins it. is has
	// the ids of a span that is dropped, or is the first of its trace.
	Sample(parent trace.SpanContext) (is trace.SpanContext, kept trace.Tracer)
}

// Begin begins a span with t, below that of the context, and returns its ids. If t is a
// Sampler that drops the span, the span is nil, the context stays as it is, and with is
// not called: options are built only for spans that are kept.
func Begin(ctx context.Context, t trace.Tracer, name string, with func() []trace.SpanStartOption) (context.Context, trace.Span, trace.SpanContext) {
	s, ok := t.(Sampler)
	if !ok {
		ctx, span := t.Start(ctx, name, with()...)
		return ctx, span, span.SpanContext()
	}
	parent := trace.SpanContextFromContext(ctx)
	is, kept := s.Sample(parent)
	switch {
	case kept == nil:
		return ctx, nil, is
	case parent.IsValid():
		ctx, span := kept.Start(ctx, name, with()...)
		return ctx, span, span.SpanContext()
	}
	_, span := kept.Start(WithIdentity(ctx, is), name, with()...)
	return trace.ContextWithSpan(ctx, span), span, span.SpanContext()
}

// Tracer returns the tracer that all spans of Parley are written with.
func Tracer(p trace.TracerProvider) trace.Tracer { return p.Tracer(Scope) }

// End ends a span. If err is not nil the span's status is an error, of the type of an
// *a2a.Error's code; the type of other errors is "canceled", "timeout" or "_OTHER". The
// text of an error that is not an *a2a.Error is not written, because nobody has said
// that it may leave the process.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		Fail(span, err)
	}
	span.End()
}

// Fail sets the status of a span, as End does. Attributes that say more than the
// error's code, such as an HTTP status as ErrorType, are set after it.
func Fail(span trace.Span, err error) {
	what, words := "_OTHER", ""
	known, ours := errors.AsType[*a2a.Error](err)
	switch {
	case ours:
		what, words = known.Code.String(), known.Message
		span.SetAttributes(Code.String(what))
	case errors.Is(err, context.Canceled):
		what = "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		what = "timeout"
	}
	span.SetAttributes(ErrorType.String(what))
	span.SetStatus(codes.Error, words)
}

// contentKey marks a context in which messages may be written into spans.
type contentKey struct{}

// WithContent returns a context in which [Content] is true.
func WithContent(ctx context.Context) context.Context {
	return context.WithValue(ctx, contentKey{}, true)
}

// Content reports whether texts of people and models may be in spans: the opt-in of the
// conventions for GenAIInputMessages and GenAIOutputMessages. It is for runs of agents;
// it is false unless the operator said otherwise.
func Content(ctx context.Context) bool { return ctx.Value(contentKey{}) != nil }

// maxText is how many bytes of a text that others chose, such as an id, an attribute
// may have.
const maxText = 256

// Text returns an attribute whose value others chose, cut to maxText.
func Text(key attribute.Key, value string) attribute.KeyValue { return key.String(cut(value)) }

// Texts is Text for a list, of which it takes the first 32.
func Texts(key attribute.Key, values []string) attribute.KeyValue {
	list := make([]string, min(len(values), 32))
	for i := range list {
		list[i] = cut(values[i])
	}
	return key.StringSlice(list)
}

func cut(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "")
}

// Server returns ServerAddress and ServerPort of an http or https URL.
func Server(u *url.URL) []attribute.KeyValue {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return []attribute.KeyValue{ServerAddress.String(u.Hostname())}
	}
	return []attribute.KeyValue{ServerAddress.String(u.Hostname()), ServerPort.Int(n)}
}

// URL returns URLFull without user, password and query, which may be secret.
func URL(u *url.URL) attribute.KeyValue {
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return URLFull.String(plain.String())
}
