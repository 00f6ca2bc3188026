package outbox

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/outbox/outboxtest"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/store"
)

// Each attempt, in any process, is a span of the message's trace, and the notifier has it. An
// event of a later turn is in that turn's trace.
func TestAttemptsHaveSpans(t *testing.T) {
	const first, second = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01"
	pushTest(t, func(t *testing.T, st *store.Memory, r *receivers) {
		a := outboxtest.Log(store.Key{ID: "x"}, a2a.TaskStateCompleted, 2) // events 3 and 4
		say := func(trace string) store.Entry {
			en := &a2a.Entry{Kind: a2a.EntryMessage, Message: &a2a.Message{MessageID: "m"}, Received: &a2a.Received{Trace: trace, TraceState: "rojo=1"}}
			return store.Entry{Time: a.Entries[0].Time, Kind: uint8(en.Kind), Body: en.AppendBody(nil)}
		}
		end := a.Entries[3]
		a.Entries = append(a.Entries[:1:1], say(first), a.Entries[2], say(second), end)
		for i := range a.Entries {
			a.Entries[i].Seq = int64(i + 1)
		}
		a.Pushes = []store.PushConfig{{
			ID: "c", Host: "h", Body: []byte(`{"version":"1.0","url":"h"}`), Created: a.Row.Created, Live: true, Progress: store.Progress{Cursor: 2},
		}}
		if err := store.Do(t.Context(), st, a); err != nil {
			t.Fatal(err)
		}
		var seen []trace.SpanContext
		r.Serve = func(ctx context.Context, n *a2a.Notification) a2a.Outcome {
			seen = append(seen, trace.SpanContextFromContext(ctx))
			if n.Seq == 3 && len(seen) == 1 {
				return outboxtest.Failing5xx
			}
			return a2a.Outcome{}
		}
		spans := tracetest.NewInMemoryExporter()
		w := tracedWorld(t, st, r, telemetry.Tracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))))
		passes(time.Minute)
		w.stop()

		list := spans.GetSpans().Snapshots()
		if len(list) != 3 {
			t.Fatalf("%d spans, want 3: %v", len(list), list)
		}
		for i, want := range []struct {
			parent, verdict string
			attempt, event  int64
			status          codes.Code
		}{{first, "again", 1, 3, codes.Error}, {first, "delivered", 2, 3, codes.Unset}, {second, "delivered", 1, 5, codes.Unset}} {
			s := list[i]
			if parent, state := telemetry.Format(s.Parent()); parent != want.parent || state != "rojo=1" || s.Name() != "webhook deliver" || s.SpanKind() != trace.SpanKindClient {
				t.Errorf("span %d: %s %s of %s %s", i, s.Name(), s.SpanKind(), parent, state)
			}
			set := attribute.NewSet(s.Attributes()...)
			verdict, _ := set.Value(telemetry.WebhookVerdict)
			attempt, _ := set.Value(telemetry.WebhookAttempt)
			event, _ := set.Value(telemetry.WebhookEvent)
			if verdict.AsString() != want.verdict || attempt.AsInt64() != want.attempt || event.AsInt64() != want.event || s.Status().Code != want.status {
				t.Errorf("span %d: %v, %v", i, set.ToSlice(), s.Status())
			}
			if !seen[i].Equal(s.SpanContext()) {
				t.Errorf("the notifier saw %v in span %d", seen[i], i)
			}
		}
	})
}
