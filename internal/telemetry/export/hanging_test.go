package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/engine"
	"github.com/parley-a2a/parley/store"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// hanging is a collector that accepts spans and never answers.
type hanging struct {
	mu   sync.Mutex
	held int // spans
	most int
}

func (h *hanging) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	h.mu.Lock()
	h.held += len(spans)
	h.most = max(h.most, h.held)
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.held -= len(spans)
		h.mu.Unlock()
	}()
	<-ctx.Done()
	return ctx.Err()
}

func (*hanging) Shutdown(context.Context) error { return nil }

// away is a collector that refuses connections at once.
type away struct{}

func (away) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	return errors.New("connection refused")
}
func (away) Shutdown(context.Context) error { return nil }

// A clock that stands still while any goroutine works shows that tasks take no time:
// none of them waits for a collector that hangs, or is away, for ten minutes. The log
// has a line a minute at most, the queue has a bound, and Shutdown takes no longer than
// it may.
func TestTasksDoNotWaitForACollector(t *testing.T) {
	for name, to := range map[string]sdktrace.SpanExporter{"hangs": new(hanging), "away": away{}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var said lockedBuffer
				out := newOutlet(to, newReporter(slog.New(slog.NewTextHandler(&said, nil))))
				p := sdktrace.NewTracerProvider(sendTo(out)...)
				st := store.NewMemory()
				e := engine.New(st, agent.Func(func(ctx context.Context, turn *agent.Turn) error {
					_, err := agent.Step(ctx, turn, "step", func(context.Context) (string, error) { return "x", nil })
					return err
				}), &a2a.AgentCard{Name: "test"}, &engine.Options{TracerProvider: p})
				ctx, stop := context.WithCancel(t.Context())
				ran := make(chan error, 1)
				go func() { ran <- e.Run(ctx) }()
				synctest.Wait()

				const minutes = 10
				for minute := range minutes {
					begun, each := time.Now(), 10
					if minute == 0 {
						each = 1400 // of two spans each: more than the queue and a batch under way hold
					}
					for i := range each {
						req := &a2a.SendMessageRequest{Message: a2a.UserText("go")}
						req.Message.MessageID = fmt.Sprintf("%d-%d", minute, i)
						if got, err := e.SendMessage(t.Context(), req); err != nil || got.Task == nil {
							t.Fatalf("%+v, %v", got, err)
						}
					}
					if took := time.Since(begun); took > 0 {
						t.Errorf("%d tasks waited for %v", each, took)
					}
					time.Sleep(time.Minute)
				}
				stop()
				if err := <-ran; err != nil {
					t.Error(err)
				}
				if err := st.Close(); err != nil {
					t.Error(err)
				}

				begun := time.Now()
				end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				stopSending := context.AfterFunc(end, out.end)
				_ = p.Shutdown(end) // the log has the error
				stopSending()
				if took := time.Since(begun); took > 5*time.Second {
					t.Errorf("the end took %v", took)
				}
				synctest.Wait()
				if n := strings.Count(said.String(), "telemetry cannot be sent"); n < 1 || n > minutes+1 {
					t.Errorf("the log has %d lines:\n%s", n, said.String())
				}
				if h, ok := to.(*hanging); ok && h.most > 512 {
					t.Errorf("%d spans were on their way at a time", h.most)
				}
			})
		})
	}
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

var _ io.Writer = (*lockedBuffer)(nil)

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
