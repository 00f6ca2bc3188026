package a2aserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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

// What has no deadlines says so with errors, which cost more than deadlines.
func (d discard) SetReadDeadline(time.Time) error  { return nil }
func (d discard) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkUnary is what the server itself costs per call.
func BenchmarkUnary(b *testing.B) {
	answer := &a2a.SendMessageResponse{Task: doneTask()}
	h := New(&fake{send: func(context.Context, *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) { return answer, nil }}, testCard(), nil)
	const send = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`
	for name, call := range map[string][2]string{
		"jsonrpc": {"/", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":` + send + `}`},
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

// BenchmarkStream is what the server itself costs per event: ns/op and allocs
// are per event.
func BenchmarkStream(b *testing.B) {
	ev := &a2a.StreamResponse{Seq: 12345, ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
		TaskID: "4f9c2ab0-1df7-4c83-9dd2-1a4a0c1ad9a1", ContextID: "4f9c2ab0-1df7-4c83-9dd2-1a4a0c1ad9a2", Append: true,
		Artifact: &a2a.Artifact{ArtifactID: "a1", Parts: []*a2a.Part{a2a.TextPart(strings.Repeat("x", 100))}},
	}}
	h := New(streaming(func(context.Context) elements {
		return func(yield func(*a2a.StreamResponse, error) bool) {
			for b.Loop() {
				if !yield(ev, nil) {
					return
				}
			}
		}
	}), testCard(), nil)
	b.ReportAllocs()
	h.ServeHTTP(discard{http.Header{}}, httptest.NewRequest("GET", "/tasks/t1:subscribe", nil))
}
