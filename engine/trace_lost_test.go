package engine

import (
	"context"
	"encoding/binary"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/telemetry"
	"github.com/parley-a2a/parley/store"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// idsAsTold makes ids that count, but for those that the context names.
type idsAsTold struct{ n atomic.Uint64 }

func (c *idsAsTold) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], c.n.Add(1))
	return id, c.NewSpanID(ctx, id)
}

func (c *idsAsTold) NewSpanID(ctx context.Context, _ trace.TraceID) (span trace.SpanID) {
	if is, ok := telemetry.Identity(ctx); ok {
		return is.SpanID()
	}
	binary.BigEndian.PutUint64(span[:], c.n.Add(1))
	return span
}

// A process that is killed takes the spans of a call and of a run with it. The next one
// writes them with the same ids, the call's once, and only if it waited for the task.
func TestLostSpansAreWritten(t *testing.T) {
	const came = "00-0af7651916cd43dd8448eb211c80319c-a7ad6b7169203331-01"
	for _, waits := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			st := store.NewMemory()
			defer st.Close()
			ag := agent.Func(func(ctx context.Context, turn *agent.Turn) error {
				if err := turn.Status("at work"); err != nil {
					return err
				}
				if turn.Attempt() < 3 {
					<-ctx.Done()
					return context.Cause(ctx)
				}
				return turn.Complete("done")
			})
			ids := new(idsAsTold)
			process := func() (*tracetest.SpanRecorder, *Options) {
				r := tracetest.NewSpanRecorder()
				return r, &Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r), sdktrace.WithIDGenerator(ids))}
			}
			req := sendNow("go")
			req.Configuration.ReturnImmediately = !waits
			var killed []*tracetest.SpanRecorder
			for n := range 2 {
				r, o := process()
				w, kill := newMortal(t, st, ag, o)
				if n == 0 {
					ctx := telemetry.WithCall(calledIn(t.Context(), callOne), "SendMessage", came)
					go w.SendMessage(ctx, req) // which the kill ends
				}
				time.Sleep(time.Minute)
				kill()
				killed = append(killed, r)
			}
			r, o := process()
			newWorldWith(t, st, ag, testCard(), o)
			time.Sleep(time.Minute)

			call := telemetry.SpanContext(callOne, "")
			for n, next := range []*tracetest.SpanRecorder{killed[1], r} {
				var run, lost sdktrace.ReadOnlySpan
				for _, s := range spansNamed(killed[n], "invoke_agent test") {
					if attr(s, telemetry.Lost) == "" {
						run = s
					}
				}
				for _, s := range spansNamed(next, "invoke_agent test") {
					if attr(s, telemetry.Lost) == "true" {
						lost = s
					}
				}
				if run == nil || lost == nil || run.SpanContext().SpanID() != lost.SpanContext().SpanID() {
					t.Fatalf("process %d: the run is %v, and the next process wrote %v", n+1, run, lost)
				}
				wantParent(t, lost, call)
				wantAttrs(t, lost, map[attribute.Key]string{telemetry.Attempt: strconv.Itoa(n + 1), telemetry.ErrorType: "process_lost"})
				calls := spansNamed(next, "SendMessage")
				if (len(calls) == 1) != (waits && n == 0) {
					t.Fatalf("process %d wrote %d calls", n+2, len(calls))
				}
				for _, s := range calls {
					wantParent(t, s, telemetry.SpanContext(came, ""))
					if s.SpanContext().SpanID() != call.SpanID() || s.SpanKind() != trace.SpanKindServer {
						t.Errorf("the lost call is %v, want %v", s.SpanContext(), call)
					}
				}
			}
		})
	}
}
