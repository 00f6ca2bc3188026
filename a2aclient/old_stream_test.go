package a2aclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/a2a"
)

// oldStreams is an agent of an old version over JSON-RPC whose answers are
// written out: one after the other for each method.
type oldStreams struct {
	answers map[string][]string // "CUT" at the end breaks the connection

	mu    sync.Mutex // protects the fields below
	calls []string
	docs  []string // the params
	last  []string // Last-Event-ID
}

func (a *oldStreams) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var env struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&env); err != nil {
		panic(err)
	}
	a.mu.Lock()
	a.calls = append(a.calls, env.Method)
	a.docs = append(a.docs, string(env.Params))
	a.last = append(a.last, r.Header.Get("Last-Event-ID"))
	list := a.answers[env.Method]
	if len(list) == 0 {
		a.mu.Unlock()
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"no more of this"}}`, env.ID)
		return
	}
	answer := list[0]
	if len(list) > 1 {
		a.answers[env.Method] = list[1:]
	}
	a.mu.Unlock()
	answer = strings.ReplaceAll(answer, "$ID", string(env.ID))
	answer, cut := strings.CutSuffix(answer, "CUT")
	if strings.HasPrefix(answer, "data:") || strings.HasPrefix(answer, "id:") {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	io.WriteString(w, answer)
	http.NewResponseController(w).Flush()
	if cut {
		panic(http.ErrAbortHandler)
	}
}

// events writes results as a stream. One that begins with # has the id before
// the next blank.
func streamOf(results ...string) string {
	var b strings.Builder
	for _, r := range results {
		if rest, ok := strings.CutPrefix(r, "#"); ok {
			id, doc, _ := strings.Cut(rest, " ")
			fmt.Fprintf(&b, "id: %s\n", id)
			r = doc
		}
		fmt.Fprintf(&b, `data: {"jsonrpc":"2.0","id":$ID,"result":%s}`+"\n\n", r)
	}
	return b.String()
}

func resultOf(doc string) string { return `{"jsonrpc":"2.0","id":$ID,"result":` + doc + `}` }

// speak returns a client of the agent in a bubble.
func speak(t *testing.T, a *oldStreams, version string) *Client {
	c, _ := inMemory(t, a, a2a.BindingJSONRPC, &Options{Version: version})
	return c
}

func kinds(els []*a2a.StreamResponse) string {
	var out []string
	for _, el := range els {
		out = append(out, brief([]*a2a.StreamResponse{el})[2:])
	}
	return strings.Join(out, ", ")
}

// Version 0.1 as its first documentation prints it: pretty, without jsonrpc, by
// ids that count on their own, and without a Task.
func TestStreamOf01(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &oldStreams{answers: map[string][]string{"tasks/sendSubscribe": {`data:{
  "id": 1,
  "result": {
    "id": 1,
    "status": {
      "state": "working",
      "timestamp":"2025-04-02T16:59:25.331844"
    },
    "final": false
  }
}

data:{
  "id": 1,
  "result": {
    "id": 1,
    "artifact": [
      {"parts": [{"type":"text", "text": "<section 1...>"}],
      "index": 0, "append": false, "lastChunk": false}
    ]
  }
}

data:{"id":1,"result":{"id":1,"artifact":{"parts":[{"type":"text","text":"<section 2...>"}],"index":0,"append":true,"lastChunk":true}}}

data:{
  "id": 1,
  "result": {
    "id": 1,
    "status": {"state": "completed"},
    "final": true
  }
}

`}}}
		c := speak(t, a, "0.1")
		els, err := collect(c.SendStreamingMessage(t.Context(), saying("write")))
		if err != nil || kinds(els) != "WORKING, chunk, chunk, COMPLETED" {
			t.Fatalf("%s, %v", kinds(els), err)
		}
		task := new(a2a.Task)
		for _, el := range els {
			task.ApplyEvent(el)
		}
		var p struct{ ID, SessionID string }
		if err := json.Unmarshal([]byte(a.docs[0]), &p); err != nil || len(p.ID) != 36 || task.ID != p.ID ||
			len(p.SessionID) != 36 || task.ContextID != p.SessionID {
			t.Errorf("the task is %q in %q, chosen was %s", task.ID, task.ContextID, a.docs[0])
		}
		if len(task.Artifacts) != 1 || len(task.Artifacts[0].Parts) != 2 {
			t.Errorf("artifacts %s", mustJSON(t, task.Artifacts))
		}
	})
}

const (
	working01   = `{"id":"x","status":{"state":"working"},"final":false}`
	completed01 = `{"id":"x","status":{"state":"completed"},"final":true}`
	asks01      = `{"id":"x","status":{"state":"input-required","message":{"role":"agent","parts":[{"type":"text","text":"which?"}]}},"final":true}`
	chunk01     = `{"id":"x","artifact":{"parts":[{"type":"text","text":"a"}],"index":0,"append":false,"lastChunk":true}}`

	task03      = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"submitted"}}`
	working03   = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"working"},"final":false}`
	final03     = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"working"},"final":true}`
	asks03      = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"input-required"},"final":true}`
	completed03 = `{"kind":"status-update","taskId":"t1","contextId":"c1","status":{"state":"completed"},"final":true}`
	chunk03     = `{"kind":"artifact-update","taskId":"t1","contextId":"c1","artifact":{"artifactId":"a1","parts":[{"kind":"text","text":"a"}]},"append":false,"lastChunk":true}`
	done03      = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"},"artifacts":[{"artifactId":"a1","parts":[{"kind":"text","text":"a"}]}]}`
)

// How streams of old versions end and are resumed.
func TestStreamsOfOldVersions(t *testing.T) {
	working := strings.Replace(task03, "submitted", "working", 1)
	tests := []struct {
		name, version string
		answers       map[string][]string
		want          string // kinds; an error behind
		calls         string
	}{
		{"0.1 asks", "0.1", map[string][]string{"tasks/sendSubscribe": {streamOf(working01, asks01)}},
			"WORKING, INPUT_REQUIRED <nil>", "tasks/sendSubscribe"},
		{"0.3 asks, with positions", "0.3", map[string][]string{"message/stream": {streamOf("#1 "+task03, "#2 "+asks03)}},
			"task:SUBMITTED, INPUT_REQUIRED <nil>", "message/stream"},
		{"0.1 has a cut", "0.1", map[string][]string{
			"tasks/sendSubscribe": {streamOf(working01) + "CUT"},
			"tasks/get":           {resultOf(`{"id":"x","sessionId":"s","status":{"state":"working"}}`), resultOf(`{"id":"x","sessionId":"s","status":{"state":"completed"}}`)},
			"tasks/resubscribe":   {streamOf(chunk01, completed01)},
		}, "WORKING, chunk, COMPLETED, task:COMPLETED <nil>", "tasks/sendSubscribe tasks/get tasks/resubscribe tasks/get"},
		{"0.1 is cut before its first event", "0.1", map[string][]string{
			"tasks/sendSubscribe": {"data:CUT"},
			"tasks/get":           {resultOf(`{"id":"x","status":{"state":"completed"}}`)},
		}, "task:COMPLETED <nil>", "tasks/sendSubscribe tasks/get"},
		{"0.3 is cut and goes on behind its position", "0.3", map[string][]string{
			"message/stream":    {streamOf("#1 "+task03, "#2 "+working03) + "CUT"},
			"tasks/resubscribe": {streamOf("#2 "+working, "#3 "+chunk03, "#4 "+completed03)},
		}, "task:SUBMITTED, WORKING, chunk, COMPLETED <nil>", "message/stream tasks/resubscribe"},
		{"0.3 without positions is cut, and goes on with the next event only", "0.3", map[string][]string{
			"message/stream":    {streamOf(task03, working03) + "CUT"},
			"tasks/get":         {resultOf(working), resultOf(done03)},
			"tasks/resubscribe": {streamOf(completed03)},
		}, "task:SUBMITTED, WORKING, COMPLETED, task:COMPLETED <nil>", "message/stream tasks/get tasks/resubscribe tasks/get"},
		{"0.3 is over when it is to be resumed", "0.3", map[string][]string{
			"message/stream": {streamOf(task03) + "CUT"},
			"tasks/get":      {resultOf(done03)},
		}, "task:SUBMITTED, task:COMPLETED <nil>", "message/stream tasks/get"},
		{"0.3 closes without an end", "0.3", map[string][]string{
			"message/stream":    {streamOf(task03)},
			"tasks/get":         {resultOf(task03)},
			"tasks/resubscribe": {streamOf(done03, completed03)},
		}, "task:SUBMITTED, task:COMPLETED, COMPLETED <nil>", "message/stream tasks/get tasks/resubscribe"},
		{"0.3 calls every state final", "0.3", map[string][]string{
			"message/stream":    {streamOf(task03, final03)},
			"tasks/get":         {resultOf(working), resultOf(working), resultOf(working), resultOf(working), resultOf(working), resultOf(working), resultOf(done03)},
			"tasks/resubscribe": {streamOf(final03)},
		}, "task:SUBMITTED, WORKING, task:COMPLETED <nil>", "message/stream" + strings.Repeat(" tasks/get tasks/resubscribe", 6) + " tasks/get"},
		{"0.3 answers with a message", "0.3", map[string][]string{
			"message/stream": {streamOf(`{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"hi"}]}`)},
		}, "message <nil>", "message/stream"},
		{"0.3 does not stream after all", "0.3", map[string][]string{
			"message/stream": {`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}`},
			"tasks/get":      {`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"Task not found"}}`},
			"message/send":   {resultOf(done03)},
		}, "task:COMPLETED <nil>", "message/stream message/send"},
		{"0.3 has an error for its first event", "0.3", map[string][]string{
			"message/stream": {`data: {"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"no"}}` + "\n\n"},
		}, " no", "message/stream"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &oldStreams{answers: tt.answers}
				c := speak(t, a, tt.version)
				els, err := collect(c.SendStreamingMessage(t.Context(), saying("x")))
				if got := fmt.Sprintf("%s %v", kinds(els), err); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				if got := strings.Join(a.calls, " "); got != tt.calls {
					t.Errorf("calls %s, want %s", got, tt.calls)
				}
			})
		})
	}
}

// What subscriptions to finished and waiting tasks look like.
func TestSubscriptionsOfOldVersions(t *testing.T) {
	tests := []struct{ name, version, answer, want string }{
		{"a finished task of 0.1", "0.1", streamOf(completed01), "COMPLETED <nil>"},
		{"a finished task of 0.3", "0.3", streamOf(done03, completed03), "task:COMPLETED, COMPLETED <nil>"},
		{"a finished task of ours in 0.3", "0.3", streamOf(done03, "#9 "+completed03), "task:COMPLETED, COMPLETED <nil>"},
		{"a finished task, told by the Task alone", "0.3", streamOf(done03), "task:COMPLETED <nil>"},
		{"a finished task, refused", "0.3", `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"finished"}}`, " finished"},
		{"a waiting task", "0.1", streamOf(asks01), "INPUT_REQUIRED <nil>"},
		{"a waiting task with positions", "0.3", streamOf("#1 "+task03, "#2 "+asks03), "task:SUBMITTED, INPUT_REQUIRED <nil>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &oldStreams{answers: map[string][]string{"tasks/resubscribe": {tt.answer}}}
				c := speak(t, a, tt.version)
				els, err := collect(c.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: "t1"}))
				if got := fmt.Sprintf("%s %v", kinds(els), err); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				if len(a.calls) != 1 {
					t.Errorf("calls %q", a.calls)
				}
			})
		})
	}
}

// In 0.1 a message that a cut kept from being answered is looked for by the id
// that the client chose, and never sent again.
func TestACutIn01SendsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &oldStreams{answers: map[string][]string{
			"tasks/sendSubscribe": {"data:CUT"},
			"tasks/get":           {`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"Task not found"}}`},
		}}
		c := speak(t, a, "0.1")
		els, err := collect(c.SendStreamingMessage(t.Context(), saying("x")))
		if _, broke := err.(*TransportError); !broke || len(els) > 0 || strings.Join(a.calls, " ") != "tasks/sendSubscribe tasks/get" {
			t.Errorf("%s, %v; calls %q", kinds(els), err, a.calls)
		}
	})
}

// The extended card of 0.2 is a document beside the interface.
func TestExtendedCardOf02(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var paths []string
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			paths = append(paths, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
			if len(paths) > 1 {
				w.WriteHeader(401)
				return
			}
			io.WriteString(w, `{"name":"More","url":"http://agent.test/rpc","version":"1","capabilities":{},"skills":[],"protocolVersion":"0.2.6"}`)
		})
		c, _ := inMemory(t, h, a2a.BindingJSONRPC, &Options{Version: "0.2", Bearer: "b"})
		card, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
		if err != nil || card.Name != "More" {
			t.Errorf("%v, %v", card, err)
		}
		c.card.Store(cardAt("http://agent.test", a2a.BindingJSONRPC))
		if _, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{}); said(err) == nil || said(err).Code != a2a.CodeUnauthenticated {
			t.Errorf("refused: %v", err)
		}
		if strings.Join(paths, ", ") != "GET /agent/authenticatedExtendedCard Bearer b, GET /agent/authenticatedExtendedCard Bearer b" {
			t.Errorf("%q", paths)
		}
	})
}
