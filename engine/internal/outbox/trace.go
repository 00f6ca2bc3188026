package outbox

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/telemetry"
)

// An attempt to deliver an event is a span in the trace of the message to whose turn the event
// belongs. The log has the trace with the message, so any process can continue it, however
// late.

// passes notes the trace of en if it is a message.
func (w *courier) passes(en *a2a.Entry) {
	if w.e.Tracer == nil || en.Received == nil {
		return
	}
	if c := telemetry.SpanContext(en.Received.Trace, en.Received.TraceState); c.IsValid() {
		w.d.origin = &c
	}
}

// opening is how many entries at the beginning of a log are searched for a message.
const opening = 4

// origin returns the span of the call that brought the turn's message or, if the courier began
// after that message, the task's first one. It is not valid if the call was not traced.
func (w *courier) origin(ctx context.Context) trace.SpanContext {
	if w.d.origin == nil {
		w.d.origin = new(trace.SpanContext) // so that the log is read once
		page, err := w.e.Store.Entries(ctx, w.d.id.Key, 0, opening)
		for i := 0; err == nil && i < len(page) && !w.d.origin.IsValid(); i++ {
			var en *a2a.Entry
			if en, err = w.e.Entry(ctx, &page[i]); err == nil {
				w.passes(en)
			}
		}
	}
	return *w.d.origin
}

// notify makes one attempt, the n-th for the event, in a client span. The notifier adds what it
// knows of the request.
func (w *courier) notify(ctx context.Context, n *a2a.Notification, attempt int32) a2a.Outcome {
	if w.e.Tracer == nil {
		return w.e.Notifier.Notify(ctx, n)
	}
	ctx = trace.ContextWithSpanContext(ctx, w.origin(ctx))
	ctx, span := w.e.Tracer.Start(ctx, telemetry.SpanWebhook, trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	out := w.e.Notifier.Notify(ctx, n)
	if !span.IsRecording() {
		return out
	}
	span.SetAttributes(
		telemetry.Text(telemetry.A2ATaskID, w.push.Key.ID), telemetry.Text(telemetry.WebhookConfig, w.push.ID),
		telemetry.WebhookAttempt.Int(int(attempt)), telemetry.WebhookEvent.Int64(n.Seq), telemetry.WebhookVerdict.String(verdicts[out.Verdict]),
	)
	if s := n.Event.State(); s.Valid() {
		span.SetAttributes(telemetry.A2ATaskState.String(s.String()))
	}
	if g := generation(n.Event); g > 0 {
		span.SetAttributes(telemetry.Generation.Int64(g))
	}
	if out.Verdict != a2a.Delivered {
		span.SetStatus(codes.Error, out.Reason)
	}
	return out
}

// verdicts are the values of telemetry.WebhookVerdict.
var verdicts = map[a2a.Verdict]string{
	a2a.Delivered: "delivered", a2a.DeliverAgain: "again", a2a.GiveUp: "given up", a2a.DisableConfig: "disabled",
}

// generation returns the generation of an event of a log.
func generation(ev *a2a.StreamResponse) int64 {
	switch {
	case ev.StatusUpdate != nil:
		return ev.StatusUpdate.Generation
	case ev.ArtifactUpdate != nil:
		return ev.ArtifactUpdate.Generation
	}
	return 0
}
