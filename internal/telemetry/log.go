package telemetry

import (
	"context"
	"log/slog"
	"maps"

	"github.com/parley-a2a/parley/a2a"
	"go.opentelemetry.io/otel/trace"
)

// LogHandler adds to each record what its context knows and the record does not have:
// the caller, and trace_id and span_id of the span or, if there is none, of the call's
// traceparent.
func LogHandler(h slog.Handler) slog.Handler { return &logHandler{Handler: h} }

type logHandler struct {
	slog.Handler
	has map[string]bool // attributes of the logger
}

func (l *logHandler) Handle(ctx context.Context, r slog.Record) error {
	span, from := trace.SpanContextFromContext(ctx), a2a.CallerFrom(ctx)
	if !span.IsValid() {
		span = SpanContext(from.Trace, "")
	}
	caller := from.Subject
	if !span.IsValid() && caller == "" {
		return l.Handler.Handle(ctx, r)
	}
	var own [3]slog.Attr
	add := own[:0]
	if caller != "" {
		add = append(add, slog.String("caller", caller))
	}
	if span.IsValid() {
		add = append(add, slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	r = r.Clone()
	for _, at := range add {
		has := l.has[at.Key]
		r.Attrs(func(is slog.Attr) bool {
			has = has || is.Key == at.Key
			return !has
		})
		if !has {
			r.AddAttrs(at)
		}
	}
	return l.Handler.Handle(ctx, r)
}

func (l *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	has := map[string]bool{}
	maps.Copy(has, l.has)
	for _, at := range attrs {
		has[at.Key] = true
	}
	return &logHandler{l.Handler.WithAttrs(attrs), has}
}

func (l *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{l.Handler.WithGroup(name), nil}
}
