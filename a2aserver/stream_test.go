package a2aserver

import (
	"context"
	"errors"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

type elements = iter.Seq2[*a2a.StreamResponse, error]

// yields is a stream of the elements of list, in this order.
func yields(list ...any) elements {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		for _, v := range list {
			switch v := v.(type) {
			case error:
				yield(nil, v)
				return
			case *a2a.StreamResponse:
				if !yield(v, nil) {
					return
				}
			}
		}
	}
}

func taskAt(seq int64) *a2a.StreamResponse {
	return &a2a.StreamResponse{Seq: seq, Task: &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}}
}

func statusAt(seq int64, s a2a.TaskState) *a2a.StreamResponse {
	return &a2a.StreamResponse{Seq: seq, StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: s}}}
}

func streaming(f func(context.Context) elements) *fake {
	return &fake{
		stream:    func(ctx context.Context, _ *a2a.SendMessageRequest) elements { return f(ctx) },
		subscribe: func(ctx context.Context, _ *a2a.SubscribeToTaskRequest) elements { return f(ctx) },
	}
}

const (
	rpcSubscribe = `{"jsonrpc":"2.0","id":"s","method":"SubscribeToTask","params":{"id":"t1"}}`
	statusJSON   = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`
)

// R-008 R-215 R-220 R-235 R-247: the same stream on both bindings, to the byte.
func TestStreamBytes(t *testing.T) {
	raw := statusAt(0, a2a.TaskStateCompleted) // no log, so no id
	raw.StatusUpdate.Metadata = a2a.JSON("{\n\t\"a\": 1.0,\r\n\"b\":null}")
	h := New(streaming(func(context.Context) elements {
		return yields(taskAt(3), statusAt(7, a2a.TaskStateCompleted), raw)
	}), testCard(), nil)
	const rawJSON = `{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"metadata":{ 	"a": 1.0,  "b":null}}}`
	for _, tt := range []struct{ method, target, body, prefix, suffix string }{
		{"POST", "/", rpcSubscribe, `{"jsonrpc":"2.0","id":"s","result":`, `}`},
		{"POST", "/", strings.Replace(rpcSubscribe, "SubscribeToTask", "SendStreamingMessage", 1), `{"jsonrpc":"2.0","id":"s","result":`, `}`},
		{"POST", "/message:stream", "{}", "", ""},
		{"POST", "/tasks/t1:subscribe", "", "", ""},
		{"GET", "/tasks/t1:subscribe", "", "", ""},
		{"GET", "/acme/tasks/t1:subscribe", "", "", ""},
	} {
		w := do(h, tt.method, tt.target, tt.body)
		want := "id: 3\ndata: " + tt.prefix + `{"task":` + taskJSON + `}` + tt.suffix + "\n\n" +
			"id: 7\ndata: " + tt.prefix + statusJSON + tt.suffix + "\n\n" +
			"data: " + tt.prefix + rawJSON + tt.suffix + "\n\n"
		if w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s %s: %d\n%s\nwant\n%s", tt.method, tt.target, w.Code, w.Body, want)
		}
		for name, want := range map[string]string{
			"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Content-Length": "",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s %s: %s %q", tt.method, tt.target, name, got)
			}
		}
	}
}

// DIALECTS 4.5: before the first event an error is an ordinary answer, after it an
// event of its own.
func TestErrorsInStreams(t *testing.T) {
	gone := &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "no task t1"}
	const info = `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]`
	const rest = `{"error":{"code":404,"status":"NOT_FOUND","message":"no task t1","details":` + info + `}}`
	rpc := rpcError(`"s"`, "-32001", "no task t1", "TASK_NOT_FOUND")

	early := New(streaming(func(context.Context) elements { return yields(gone) }), testCard(), nil)
	if w := do(early, "POST", "/", rpcSubscribe); w.Code != 200 || w.Body.String() != rpc || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := do(early, "GET", "/tasks/t1:subscribe", ""); w.Code != 404 || w.Body.String() != rest || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}

	// Clients of 0.x that ask for events would lose an error that is not an event.
	const old = `{"jsonrpc":"2.0","id":"s","method":"tasks/resubscribe","params":{"id":"t1"}}`
	if w := do(early, "POST", "/", old, "Accept: text/event-stream"); w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" ||
		!strings.HasPrefix(w.Body.String(), `data: {"jsonrpc":"2.0","id":"s","error":{"code":-32001,`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := do(early, "POST", "/", old, "Accept: text/event-stream", "A2A-Version: 0.3"); !strings.HasPrefix(w.Body.String(), "event: error\ndata: {") {
		t.Errorf("0.3: %s", w.Body)
	}
	for _, accept := range []string{"application/json", "*/*"} {
		if w := do(early, "POST", "/", old, "Accept: "+accept); w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("a client that accepts %s gets %v %s", accept, w.Header(), w.Body)
		}
	}

	late := New(streaming(func(context.Context) elements { return yields(taskAt(1), gone) }), testCard(), nil)
	if w := do(late, "POST", "/", rpcSubscribe); !strings.HasSuffix(w.Body.String(), "\n\nevent: error\ndata: "+rpc+"\n\n") {
		t.Error(w.Body)
	}
	if w := do(late, "GET", "/tasks/t1:subscribe", ""); !strings.HasSuffix(w.Body.String(), "\n\nevent: error\ndata: "+rest+"\n\n") {
		t.Error(w.Body)
	}

	for name, seq := range map[string]func(context.Context) elements{
		"plain error": func(context.Context) elements { return yields(taskAt(1), errors.New("SELECT")) },
		"panic":       func(context.Context) elements { return panics(taskAt(1)) },
	} {
		w := do(New(streaming(seq), testCard(), nil), "POST", "/", rpcSubscribe)
		want := "event: error\ndata: " + rpcError(`"s"`, "-32603", "Internal error", "INTERNAL_ERROR") + "\n\n"
		if !strings.HasSuffix(w.Body.String(), want) {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
	for name, seq := range map[string]func(context.Context) elements{
		"no element":  func(context.Context) elements { return yields() },
		"early panic": func(context.Context) elements { return panics(nil) },
	} {
		w := do(New(streaming(seq), testCard(), nil), "GET", "/tasks/t1:subscribe", "")
		if w.Code != 500 || !strings.Contains(w.Body.String(), "INTERNAL_ERROR") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func panics(first *a2a.StreamResponse) elements {
	return func(yield func(*a2a.StreamResponse, error) bool) {
		if first != nil {
			yield(first, nil)
		}
		panic("at the disco")
	}
}

func TestLastEventID(t *testing.T) {
	var after int64
	h := New(&fake{subscribe: func(_ context.Context, req *a2a.SubscribeToTaskRequest) elements {
		after = req.After
		return yields(taskAt(req.After))
	}}, testCard(), nil)
	for value, want := range map[string]int64{"": 0, "0": 0, "17": 17, " 17 ": 17, "9223372036854775807": 1<<63 - 1} {
		after = -1
		w := do(h, "GET", "/tasks/t1:subscribe", "", "Last-Event-ID: "+value)
		if w.Code != 200 || after != want {
			t.Errorf("%q: %d, after %d", value, w.Code, after)
		}
		if do(h, "POST", "/", rpcSubscribe, "Last-Event-ID: "+value); after != want {
			t.Errorf("%q on JSON-RPC: after %d", value, after)
		}
	}
	for _, value := range []string{"x", "-1", "+1", "1.0", "9223372036854775808", "1,2"} {
		if w := do(h, "GET", "/tasks/t1:subscribe", "", "Last-Event-ID: "+value); w.Code != 400 || !strings.Contains(w.Body.String(), `"field":"Last-Event-ID"`) {
			t.Errorf("%q: %d %s", value, w.Code, w.Body)
		}
	}
}

// Events that the service says are followed at once go out in one write with the next;
// others go out before the next one is asked for.
func TestReadyEventsAreGathered(t *testing.T) {
	const n = 40
	for _, more := range []bool{true, false} {
		list := []any{taskAt(1)}
		for i := range n {
			list = append(list, statusAt(int64(i)+2, a2a.TaskStateWorking))
		}
		w := &countingWriter{ResponseRecorder: httptest.NewRecorder()}
		seq := func(yield func(*a2a.StreamResponse, error) bool) {
			for i, el := range list {
				el := el.(*a2a.StreamResponse)
				el.More = more && i < n
				if !yield(el, nil) {
					return
				}
				if got := strings.Count(w.Body.String(), "\n\n"); !el.More && got != i+1 {
					t.Errorf("more %t: %d of %d events are out", more, got, i+1)
				}
			}
		}
		New(streaming(func(context.Context) elements { return seq }), testCard(), nil).
			ServeHTTP(w, httptest.NewRequest("GET", "/tasks/t1:subscribe", nil))
		if got := strings.Count(w.Body.String(), "\n\n"); got != n+1 {
			t.Errorf("more %t: %d events", more, got)
		}
		if more && w.writes != 1 {
			t.Errorf("%d writes for %d events", w.writes, n+1)
		}
	}
}

// Gathering is bounded, and if a service promises a next event and sends none, nothing
// is lost.
func TestGatheringIsBounded(t *testing.T) {
	large := statusAt(1, a2a.TaskStateWorking)
	large.StatusUpdate.Metadata = a2a.JSON(`{"x":"` + strings.Repeat("x", 20<<10) + `"}`)
	large.More = true
	w := &countingWriter{ResponseRecorder: httptest.NewRecorder()}
	New(streaming(func(context.Context) elements {
		return func(yield func(*a2a.StreamResponse, error) bool) {
			for i := range 10 {
				if !yield(large, nil) {
					return
				}
				if held := (i+1)*(20<<10) - w.Body.Len(); held > streamChunk {
					t.Errorf("%d bytes are held back", held)
				}
			}
		}
	}), testCard(), nil).ServeHTTP(w, httptest.NewRequest("GET", "/tasks/t1:subscribe", nil))
	if got := strings.Count(w.Body.String(), "\n\n"); got != 10 {
		t.Errorf("%d events", got)
	}
}

type countingWriter struct {
	*httptest.ResponseRecorder
	writes int
}

func (w *countingWriter) Write(b []byte) (int, error) {
	w.writes++
	return w.ResponseRecorder.Write(b)
}

// An iterator that does not stop, or panics after its end, does no harm.
func TestIteratorsThatMisbehave(t *testing.T) {
	failure := statusAt(2, a2a.TaskStateWorking)
	for name, seq := range map[string]elements{
		"goes on": func(yield func(*a2a.StreamResponse, error) bool) {
			yield(taskAt(1), nil)
			yield(nil, a2a.ErrTaskNotFound)
			yield(failure, nil)
		},
		"panics late": func(yield func(*a2a.StreamResponse, error) bool) {
			yield(taskAt(1), nil)
			yield(nil, a2a.ErrTaskNotFound)
			panic("too late")
		},
	} {
		w := do(New(streaming(func(context.Context) elements { return seq }), testCard(), nil), "POST", "/", rpcSubscribe)
		if got := w.Body.String(); w.Code != 200 || strings.Count(got, "data: ") != 2 || !strings.Contains(got, "TASK_NOT_FOUND") {
			t.Errorf("%s: %d %s", name, w.Code, got)
		}
	}
	early := func(yield func(*a2a.StreamResponse, error) bool) {
		yield(nil, a2a.ErrTaskNotFound)
		panic("too late")
	}
	w := do(New(streaming(func(context.Context) elements { return early }), testCard(), nil), "GET", "/tasks/t1:subscribe", "")
	if w.Code != 404 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
