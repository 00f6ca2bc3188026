package a2aserver

import (
	"context"
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
		{"0.3", `{"jsonrpc":"2.0","method":"message/send","params":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`},
		{"1.0", `{"id":2,"method":"SendMessage","params":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,`},
		{"unknown", `{"id":2,"method":"tasks/sent","params":{}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,`},
	} {
		w := do(h, "POST", "/", tt.body)
		if got := w.Body.String(); w.Code != 200 || !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(tt.want, ",") && got != tt.want {
			t.Errorf("%s: %d\n got %s\nwant %s", tt.name, w.Code, got, tt.want)
		}
	}
	// Who says that this is 0.3 is held to it.
	w := do(h, "POST", "/", `{"method":"tasks/resubscribe","params":{"id":"t1"}}`, "A2A-Version: 0.3")
	if !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
		t.Errorf("0.3: %s", w.Body)
	}
}
