package a2aserver

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// Seeds 004-24 and 004-33: the methods of 0.1 are called without jsonrpc and
// id, and answered with id 1. No other method may be.
func TestRPCEnvelopeMayBeBareInVersion01Only(t *testing.T) {
	working := a2a.Task{ID: "t1", ContextID: "s1", Version: "0.1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
	stream := func(yield func(*a2a.StreamResponse, error) bool) {
		done := &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "s1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
		_ = yield(&a2a.StreamResponse{Task: &working}, nil) && yield(&a2a.StreamResponse{StatusUpdate: done}, nil)
	}
	h := New(&fake{
		send: func(context.Context, *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
			return &a2a.SendMessageResponse{Task: &working}, nil
		},
		stream: func(context.Context, *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] { return stream },
		subscribe: func(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
			return stream
		},
	}, testCard(), nil)
	const message = `"params":{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}`
	const task = `{"id":"t1","sessionId":"s1","status":{"state":"working"}}`
	const begins = `data: {"jsonrpc":"2.0","id":1,"result":{"id":"t1","status":{"state":"working"},"final":false}}` + "\n\n"
	const ends = `data: {"jsonrpc":"2.0","id":1,"result":{"id":"t1","status":{"state":"completed"},"final":true}}` + "\n\n"
	for _, tt := range []struct{ name, body, want string }{
		{"whole", `{"jsonrpc":"2.0","id":"a","method":"tasks/send",` + message + `}`, `{"jsonrpc":"2.0","id":"a","result":` + task + `}`},
		{"no version", `{"id":"a","method":"tasks/send",` + message + `}`, `{"jsonrpc":"2.0","id":"a","result":` + task + `}`},
		{"no id", `{"jsonrpc":"2.0","method":"tasks/send",` + message + `}`, `{"jsonrpc":"2.0","id":1,"result":` + task + `}`},
		{"004-24", `{"method":"tasks/sendSubscribe",` + message + `}`, begins + ends},
		{"004-33", `{"method":"tasks/resubscribe","params":{"id":"t1","metadata":{}}}`, begins + ends},
		{"errors, too", `{"method":"tasks/send","params":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,`},
		{"wrong version", `{"jsonrpc":"1.0","id":1,"method":"tasks/send",` + message + `}`, `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,`},
		{"wrong id", `{"jsonrpc":"2.0","id":{},"method":"tasks/send",` + message + `}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{"0.3", `{"jsonrpc":"2.0","method":"message/send","params":{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{"1.0", `{"id":2,"method":"SendMessage","params":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,`},
		{"unknown", `{"id":2,"method":"tasks/sent","params":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,`},
	} {
		w := do(h, "POST", "/", tt.body)
		if got := w.Body.String(); w.Code != 200 || !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(tt.want, ",") && got != tt.want {
			t.Errorf("%s: %d\n got %s\nwant %s", tt.name, w.Code, got, tt.want)
		}
	}
	// A client that declares 0.3 is held to it.
	w := do(h, "POST", "/", `{"method":"tasks/resubscribe","params":{"id":"t1"}}`, "A2A-Version: 0.3")
	if !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
		t.Errorf("0.3: %s", w.Body)
	}
}

// The first clients of 0.1 split a stream at its empty lines and ignore each block that
// does not begin with "data: ". So no id or name of an event may come before the data,
// and nothing may follow it.
func TestEventsOf01AreTheirDataAlone(t *testing.T) {
	task := &a2a.StreamResponse{Seq: 3, Task: &a2a.Task{ID: "t1", Version: "0.1", Status: a2a.TaskStatus{State: a2a.TaskStateSubmitted}}}
	broken := func(context.Context) elements {
		return yields(task, statusAt(4, a2a.TaskStateWorking), a2a.Errorf(a2a.CodeInternal, "broken"))
	}
	missing := func(context.Context) elements { return yields(a2a.Errorf(a2a.CodeTaskNotFound, "no such task")) }
	const message = `"params":{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}}`
	for _, tt := range []struct {
		method, header string
		answers        func(context.Context) elements
		want           []string // of each event
	}{
		{"tasks/sendSubscribe", "X: y", broken, []string{`"submitted"`, `"working"`, `"error"`}},
		{"tasks/resubscribe", "X: y", broken, []string{`"submitted"`, `"working"`, `"error"`}},
		{"tasks/sendSubscribe", "A2A-Version: 0.1", broken, []string{`"submitted"`, `"working"`, `"error"`}},
		{"tasks/sendSubscribe", "Accept: text/event-stream", missing, []string{`-32001`}},
		{"tasks/resubscribe", "Accept: text/event-stream", missing, []string{`-32001`}},
	} {
		h := New(streaming(tt.answers), testCard(), nil)
		w := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"`+tt.method+`",`+message, tt.header)
		blocks := strings.Split(w.Body.String(), "\n\n")
		if len(blocks) != len(tt.want)+1 || blocks[len(tt.want)] != "" {
			t.Errorf("%s: %q", tt.method, w.Body)
			continue
		}
		for i, want := range tt.want {
			doc, ok := strings.CutPrefix(blocks[i], "data: ")
			if !ok || !json.Valid([]byte(doc)) || !strings.Contains(doc, want) {
				t.Errorf("%s, %s: event %d is %q", tt.method, tt.header, i, blocks[i])
			}
		}
	}
	// A client that resumes at an id gets ids.
	h := New(streaming(broken), testCard(), nil)
	w := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"tasks/resubscribe","params":{"id":"t1"}}`, "Last-Event-ID: 2")
	if !strings.HasPrefix(w.Body.String(), "id: 3\ndata: ") {
		t.Errorf("with ids: %s", w.Body)
	}
}
