package a2aserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// discard is a client that takes everything.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
func (d discard) FlushError() error           { return nil }

// A writer without deadlines would return errors, which cost more than deadlines.
func (d discard) SetReadDeadline(time.Time) error  { return nil }
func (d discard) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkUnary measures what the server itself costs per call.
func BenchmarkUnary(b *testing.B) {
	answer := &a2a.SendMessageResponse{Task: doneTask()}
	h := New(&fake{send: func(context.Context, *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) { return answer, nil }}, testCard(), nil)
	const (
		send = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
		old  = `{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hello"}]}}`
	)
	file := strings.Replace(send, `"text":"hello"`, `"raw":"`+strings.Repeat("QUJD", 1<<20/3)+`"`, 1)
	for name, call := range map[string][2]string{
		"jsonrpc": {"/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + send + `}`},
		"get":     {"/", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"4f9c2ab0-1df7-4c83-9dd2-1a4a0c1ad9a1"}}`},
		"file":    {"/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + file + `}`},
		"0.3":     {"/", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":` + old + `}`},
		"rest":    {"/message:send", send},
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("POST", call[0], nil)
			r.ContentLength = int64(len(call[1]))
			b.ReportAllocs()
			for b.Loop() {
				r.Body = io.NopCloser(strings.NewReader(call[1]))
				h.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

// chunkAt is an event as an engine hands it out.
func chunkAt(seq int64, more bool) *a2a.StreamResponse {
	en := &a2a.Entry{Seq: seq, Kind: a2a.EntryArtifact, Artifact: &a2a.TaskArtifactUpdateEvent{
		TaskID: "4f9c2ab0-1df7-4c83-9dd2-1a4a0c1ad9a1", ContextID: "4f9c2ab0-1df7-4c83-9dd2-1a4a0c1ad9a2", Append: true, Generation: seq,
		Artifact: &a2a.Artifact{ArtifactID: "a1", Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("x", 100))}},
	}}
	ev := en.Event()
	ev.More, ev.Shared = more, a2a.NewShared(en.AppendBody(nil))
	return ev
}

// BenchmarkStream measures what the server itself costs for a stream of ten chunks:
// gathered into one write, as from a fast agent, or each written alone.
func BenchmarkStream(b *testing.B) {
	for name, more := range map[string]bool{"gathered": true, "each": false} {
		b.Run(name, func(b *testing.B) {
			list := []any{taskAt(1)}
			for i := range int64(10) {
				list = append(list, chunkAt(i+2, more))
			}
			h := New(streaming(func(context.Context) elements { return yields(list...) }), testCard(), nil)
			r := httptest.NewRequest("GET", "/tasks/t1:subscribe", nil)
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(discard{http.Header{}}, r)
			}
		})
	}
}

// BenchmarkFanOut measures what the server itself costs per event and reader: a
// thousand readers wait for the next event, in each dialect.
func BenchmarkFanOut(b *testing.B) {
	const readers = 1000
	for name, call := range map[string]string{
		"1.0": "SubscribeToTask", "0.3": "tasks/resubscribe",
	} {
		b.Run(name, func(b *testing.B) {
			type next struct {
				ev   *a2a.StreamResponse
				wake chan struct{}
			}
			var at atomic.Pointer[next]
			at.Store(&next{wake: make(chan struct{})})
			var got sync.WaitGroup
			var all sync.WaitGroup
			h := New(streaming(func(ctx context.Context) elements {
				return func(yield func(*a2a.StreamResponse, error) bool) {
					now := at.Load()
					yield(taskAt(1), nil)
					got.Done()
					for {
						<-now.wake
						if now = at.Load(); now.ev == nil || !yield(now.ev, nil) {
							return
						}
						got.Done()
					}
				}
			}), testCard(), nil)
			got.Add(readers)
			for i := range readers {
				all.Go(func() {
					body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"id":"t1"}}`, i, call)
					h.ServeHTTP(discard{http.Header{}}, httptest.NewRequest("POST", "/", strings.NewReader(body)))
				})
			}
			got.Wait()
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += readers {
				got.Add(readers)
				was := at.Swap(&next{chunkAt(int64(i)+2, false), make(chan struct{})})
				close(was.wake)
				got.Wait()
			}
			b.StopTimer()
			close(at.Swap(&next{}).wake)
			all.Wait()
		})
	}
}
