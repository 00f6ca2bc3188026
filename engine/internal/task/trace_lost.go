package task

import (
	"context"
	"time"

	"github.com/parley-a2a/parley/internal/telemetry"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// runSpan returns the span of a run. Its id follows from the task, so that another process can
// write the span if this one is killed.
func (o *Owner) runSpan(in trace.TraceID, message string, attempt int32) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: in, SpanID: telemetry.RunID(in, o.key.Tenant, o.key.Owner, o.key.ID, message, attempt),
	})
}

// traceLostLocked writes the spans that were open in a process that was killed: the run's, and
// that of the call that waited for it. They are the parents of spans that were sent before, and
// of those that other processes write.
func (o *Owner) traceLostLocked() {
	if o.all.Tracer == nil || len(o.turn.messages) == 0 {
		return
	}
	// Presumably the newest message's call was open: earlier ones were answered with a
	// question. After an earlier crash, its span is written already.
	if p := o.turn.messages[len(o.turn.messages)-1]; p.From.Call != "" && o.turn.attempt <= 1 {
		operation, parent := telemetry.ReadCall(p.From.Call)
		o.writeLost(operation, trace.SpanKindServer, textOf(&p.From.Caller).context(), spanText{parent, p.From.Caller.TraceState}.context(), p)
	}
	p := o.turn.messages[0]
	parent := textOf(&p.From.Caller).context()
	if parent.IsSampled() && o.turn.attempt > 0 {
		is := o.titled()
		o.writeLost(telemetry.SpanInvokeAgent+" "+is.name, trace.SpanKindInternal, o.runSpan(parent.TraceID(), p.Message.MessageID, o.turn.attempt), parent, p,
			telemetry.AgentKind.String(is.kind), telemetry.Turn.Int(int(o.draft.reopened+1)), telemetry.Attempt.Int(int(o.turn.attempt)))
	}
}

// writeLost writes a span from the time of a message to the task's last sign of life.
func (o *Owner) writeLost(name string, kind trace.SpanKind, is, parent trace.SpanContext, p *Post, attrs ...attribute.KeyValue) {
	ctx := telemetry.WithIdentity(trace.ContextWithSpanContext(context.Background(), parent), is)
	_, span := o.all.Tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(p.Entry.Time), trace.WithAttributes(attrs...))
	if span.SpanContext().SpanID() != is.SpanID() {
		return // the provider makes ids of its own, so no span has this one as its parent
	}
	span.SetAttributes(
		telemetry.Lost.Bool(true), telemetry.ErrorType.String("process_lost"),
		telemetry.Text(telemetry.A2ATaskID, o.key.ID), telemetry.Text(telemetry.GenAIConversationID, o.contextID),
		telemetry.Text(telemetry.A2AMessageID, p.Message.MessageID),
	)
	span.SetStatus(otelcodes.Error, "the process ended before the span did")
	end := o.out.last
	if end.Before(p.Entry.Time) {
		end = p.Entry.Time
	}
	span.End(trace.WithTimestamp(end.Add(time.Millisecond)))
}
