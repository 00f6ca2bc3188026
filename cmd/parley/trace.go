package main

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/internal/failure"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/internal/telemetry/export"
)

// farewell is how long a finished command waits for a collector.
const farewell = 2 * time.Second

// traced runs a command that calls agents within a span, if OTEL_* say where spans are sent.
// TRACEPARENT and TRACESTATE name its parent, with or without a span: so an agent's program
// that calls others by this command continues its own trace.
func (a *app) traced(ctx context.Context, name string, run func(context.Context) error) error {
	parent, _ := a.around.lookup("TRACEPARENT")
	state, _ := a.around.lookup("TRACESTATE")
	if c := telemetry.SpanContext(parent, state); c.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, c)
	}
	t, err := export.Start(ctx, export.Settings{Service: "parley-cli", Version: version(), Lookup: a.around.lookup, Logger: a.log})
	if err != nil {
		return failure.Usagef("traces cannot be sent: %v", err).WithHint("OTEL_SDK_DISABLED=true runs the command without")
	}
	if t.TracerProvider == nil {
		return run(ctx)
	}
	defer func() {
		over, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		_ = t.Shutdown(over) // the reporter has logged the error
	}()
	inner, span := telemetry.Tracer(t.TracerProvider).Start(ctx, name, trace.WithSpanKind(trace.SpanKindInternal))
	err = run(inner)
	telemetry.End(span, err)
	return err
}
