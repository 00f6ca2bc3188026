package a2aclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// oldAgent is an agent of one version, written by hand from what is known of
// real ones: it knows what that version has, and nothing else.
type oldAgent struct {
	card    string // document at the well-known paths; "" for none
	streams bool   // in 0.1

	mu     sync.Mutex // protects the fields below
	speaks string     // see the methods of ServeHTTP
	calls  []string   // methods, or verbs and paths
	taken  []string   // texts of the messages that were carried out
	heads  []http.Header
}

func (a *oldAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/.well-known/") {
		if a.card == "" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, a.card)
		return
	}
	body, _ := io.ReadAll(r.Body)
	var env struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	_ = json.Unmarshal(body, &env)
	name := env.Method
	if name == "" {
		name = r.Method + " " + r.URL.Path
	}
	a.mu.Lock()
	a.calls = append(a.calls, name)
	a.heads = append(a.heads, r.Header)
	speaks := a.speaks
	a.mu.Unlock()
	status, answer := a.answer(speaks, name, r, string(env.Params), string(body))
	switch {
	case strings.HasPrefix(answer, "<"):
		w.Header().Set("Content-Type", "text/html")
	case strings.HasPrefix(answer, "data: "):
		w.Header().Set("Content-Type", "text/event-stream")
	case env.Method != "":
		id := string(env.ID)
		if strings.HasPrefix(speaks, "0.1") {
			id = "77" // as examples of 0.1 do
		}
		answer = fmt.Sprintf(`{"id":%s,%s}`, id, answer)
		fallthrough
	default:
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	io.WriteString(w, answer)
}

const aPage = "<!doctype html><title>Not found</title>"

// answer returns the status and the body, or for JSON-RPC what is in the
// envelope.
func (a *oldAgent) answer(speaks, name string, r *http.Request, params, body string) (int, string) {
	unknown := `"error":{"code":-32601,"message":"Method not found"}`
	notFound := `"error":{"code":-32001,"message":"Task not found"}`
	noPush := `"error":{"code":-32003,"message":"Push Notification is not supported"}`
	switch speaks {
	case "0.1 sample": // the JavaScript server that came with it
		wrap := func(err string) string {
			return `"error":{"code":-32603,"message":"An unknown error occurred.","data":{"jsonrpc":"2.0","id":1,` + err + `}}`
		}
		unknown, notFound, noPush = wrap(unknown), wrap(notFound), wrap(unknown)
		fallthrough
	case "0.1 python", "0.1 js", "0.1 bare":
		switch name {
		case "tasks/send":
			a.take(params)
			var p struct{ ID, SessionID string }
			_ = json.Unmarshal([]byte(params), &p)
			return 200, fmt.Sprintf(`"result":{"id":%q,"sessionId":"s1","status":{"state":"completed"},"artifacts":[{"parts":[{"type":"text","text":"done"}],"index":0}]}`, p.ID)
		case "tasks/get", "tasks/cancel":
			return 200, notFound
		case "tasks/sendSubscribe":
			if a.streams {
				a.take(params)
				var p struct{ ID string }
				_ = json.Unmarshal([]byte(params), &p)
				event := func(state, final string) string {
					return fmt.Sprintf(`data: {"jsonrpc":"2.0","id":1,"result":{"id":%q,"status":{"state":%q},"final":%s}}`+"\n\n", p.ID, state, final)
				}
				return 200, event("working", "false") + event("completed", "true")
			}
			if speaks == "0.1 python" {
				return 200, `"error":{"code":-32004,"message":"This operation is not supported"}`
			}
		case "tasks/pushNotification/get":
			if speaks != "0.1 bare" {
				return 200, noPush
			}
		}
		if speaks == "0.1 python" {
			return 400, `"error":{"code":-32600,"message":"Request payload validation error","data":[]}`
		}
		return 200, unknown
	case "0.3", "0.3 bare":
		switch name {
		case "message/send":
			a.take(params)
			return 200, `"result":{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"}}`
		case "tasks/get", "tasks/cancel":
			return 200, notFound
		case "tasks/pushNotificationConfig/get":
			if speaks == "0.3" {
				return 200, noPush
			}
		}
		return 200, unknown
	case "1.0", "1.0 strict":
		if v := r.Header.Get("A2A-Version"); speaks == "1.0 strict" && v != "1.0" {
			return 200, `"error":{"code":-32009,"message":"Version not supported","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{"supportedVersions":"1.0"}}]}`
		}
		switch name {
		case "SendMessage":
			a.take(params)
			return 200, `"result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`
		case "GetTask", "CancelTask":
			return 200, notFound
		}
		return 200, unknown
	case "0.3 rest", "1.0 rest":
		base := ""
		if speaks == "1.0 rest" && !strings.HasPrefix(r.URL.Path, "/v1") && !strings.HasPrefix(r.Header.Get("A2A-Version"), "1.") {
			return 400, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org"}]}}`
		}
		if speaks == "0.3 rest" {
			base = "/v1"
		}
		switch {
		case name == "POST "+base+"/message:send":
			a.take(body)
			return 201, `{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`
		case strings.HasPrefix(name, "GET "+base+"/tasks/"):
			if base == "" {
				return 404, `{"error":{"code":404,"status":"NOT_FOUND","message":"gone","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}`
			}
			return 404, `{"message":"Task not found"}` // a2a-python 0.3
		}
		return 404, aPage
	case "broken":
		return 500, aPage
	case "locked":
		return 401, `"error":{"code":-32000,"message":"who are you?"}`
	}
	return 404, aPage // a site
}

// become lets the agent be another one.
func (a *oldAgent) become(speaks string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.speaks = speaks
}

func (a *oldAgent) take(doc string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, text, _ := strings.Cut(doc, `"text":"`)
	text, _, _ = strings.Cut(text, `"`)
	a.taken = append(a.taken, text)
}

func (a *oldAgent) seen() (calls, taken []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.calls...), append([]string(nil), a.taken...)
}

func isSend(call string) bool {
	return call == "tasks/send" || call == "message/send" || call == "SendMessage" || strings.HasSuffix(call, "/message:send")
}

func sends(calls []string) (n int) {
	for _, c := range calls {
		if isSend(c) {
			n++
		}
	}
	return n
}

func saying(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{
		MessageID: "m-" + text, Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(text)},
	}}
}

// An agent whose card is wrong about its version is understood all the same: one
// call is refused, its version is found by asking, and remembered.
func TestCardsThatAreWrongAboutTheVersion(t *testing.T) {
	for _, tt := range []struct{ speaks, version, binding string }{
		{"0.1 python", "0.1", "JSONRPC"}, {"0.1 js", "0.1", "JSONRPC"}, {"0.1 bare", "0.1", "JSONRPC"}, {"0.1 sample", "0.1", "JSONRPC"},
		{"0.3", "0.3", "JSONRPC"}, {"0.3 bare", "0.3", "JSONRPC"}, {"1.0", "1.0", "JSONRPC"}, {"1.0 strict", "1.0", "JSONRPC"},
		{"0.3 rest", "0.3", "HTTP+JSON"}, {"1.0 rest", "1.0", "HTTP+JSON"},
	} {
		for _, says := range []string{"0.1", "0.2", "0.3", "1.0", "1.1"} {
			if !speaks(says, tt.binding) {
				continue
			}
			t.Run(tt.speaks+" behind a card of "+says, func(t *testing.T) {
				agent := &oldAgent{speaks: tt.speaks}
				srv := httptest.NewServer(agent)
				defer srv.Close()
				c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{
					{URL: srv.URL, ProtocolBinding: tt.binding, ProtocolVersion: says},
				}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, text := range []string{"one", "two"} {
					res, err := c.SendMessage(t.Context(), saying(text))
					if err != nil {
						calls, _ := agent.seen()
						t.Fatalf("%s: %v; calls %q", text, err, calls)
					}
					if res.Task == nil || res.Task.Status.State != a2a.TaskStateCompleted {
						t.Errorf("%s: %s", text, mustJSON(t, res))
					}
				}
				calls, taken := agent.seen()
				if strings.Join(taken, " ") != "one two" {
					t.Errorf("taken %q", taken)
				}
				most := 3
				if sameDialect(says, tt.version) && tt.speaks != "1.0 strict" {
					most = 2
				}
				length := 12
				if tt.speaks == "1.0 rest" && says < "1.0" {
					most = 4 // 0.3 has two routes
				}
				if (tt.speaks == "0.1 bare" || tt.speaks == "0.1 sample") && says >= "1.0" {
					most, length = 4, 16 // what it knows looks like 0.3 first
				}
				if n := sends(calls); n > most {
					t.Errorf("%d messages on the wire: %q", n, calls)
				}
				if last := calls[len(calls)-1]; !isSend(last) || !isSend(calls[0]) || len(calls) > length {
					t.Errorf("calls %q", calls)
				}
				want := tt.version
				if says == "1.1" && strings.HasPrefix(tt.speaks, "1.0") && tt.speaks != "1.0 strict" {
					want = "1.1" // it does not mind
				}
				if !sameDialect(c.face.Load().version, want) {
					t.Errorf("speaks %s", c.face.Load().version)
				}
			})
		}
	}
}

// The same where the card promises streams that are not there either: the
// message is carried out once.
func TestCardsThatAreWrongAboutStreams(t *testing.T) {
	for _, server := range []string{"0.1 js", "0.1 bare", "0.1 sample", "0.3", "0.3 bare", "1.0", "1.0 strict"} {
		for _, says := range []string{"0.1", "0.2", "0.3", "1.0", "1.1"} {
			agent := &oldAgent{speaks: server}
			srv := httptest.NewServer(agent)
			c, err := New(&a2a.AgentCard{
				Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: yes},
				SupportedInterfaces: []*a2a.AgentInterface{{URL: srv.URL, ProtocolBinding: "JSONRPC", ProtocolVersion: says}},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			els, err := collect(c.SendStreamingMessage(t.Context(), saying("x")))
			calls, taken := agent.seen()
			if err != nil || len(els) != 1 || els[0].State() != a2a.TaskStateCompleted || len(taken) != 1 {
				t.Errorf("%s behind a card of %s: %s, %v; taken %q, calls %q", server, says, kinds(els), err, taken, calls)
			}
			srv.Close()
		}
	}
}

// If the stream shows that the agent speaks another version, the client streams in that
// version.
func TestStreamsWhereTheCardIsWrong(t *testing.T) {
	for _, server := range []string{"0.1 python", "0.1 js", "0.1 bare", "0.1 sample"} {
		for _, says := range []string{"0.1", "0.2", "0.3", "1.0", "1.1"} {
			agent := &oldAgent{speaks: server, streams: true}
			srv := httptest.NewServer(agent)
			c, err := New(&a2a.AgentCard{
				Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: yes},
				SupportedInterfaces: []*a2a.AgentInterface{{URL: srv.URL, ProtocolBinding: "JSONRPC", ProtocolVersion: says}},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			els, err := collect(c.SendStreamingMessage(t.Context(), saying("x")))
			calls, taken := agent.seen()
			if err != nil || len(els) != 2 || els[0].State() != a2a.TaskStateWorking || els[1].State() != a2a.TaskStateCompleted || len(taken) != 1 {
				t.Errorf("%s behind a card of %s: %s, %v; taken %q, calls %q", server, says, kinds(els), err, taken, calls)
			}
			srv.Close()
		}
	}
}

// Nobody there speaks A2A: the error says what was tried, once.
func TestNoVersionIsSpoken(t *testing.T) {
	for _, tt := range []struct{ speaks, want string }{
		{"site", "1.0 over JSONRPC"}, {"0.3 rest", "none of the versions"},
	} {
		agent := &oldAgent{speaks: tt.speaks}
		srv := httptest.NewServer(agent)
		defer srv.Close()
		c, err := New(cardAt(srv.URL, a2a.BindingJSONRPC), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.SendMessage(t.Context(), saying("x"))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "0.3 over JSONRPC") {
			t.Errorf("%s: %v", tt.speaks, err)
		}
		if e := said(err); e != nil && e.PeerCode == "" {
			t.Errorf("%s: the peer's code is lost: %v", tt.speaks, err)
		}
		if calls, taken := agent.seen(); len(taken) > 0 || sends(calls) > 1 {
			t.Errorf("%s: %q", tt.speaks, calls)
		}
	}
}

// What an agent refuses for other reasons is its answer, and no other version
// is tried. The agent is asked whether it means it at most once.
func TestRefusalsThatAreMeant(t *testing.T) {
	agent := &oldAgent{speaks: "0.3"}
	srv := httptest.NewServer(agent)
	defer srv.Close()
	c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{
		{URL: srv.URL, ProtocolBinding: "JSONRPC", ProtocolVersion: "0.3"},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{}); said(err) == nil || said(err).Code != a2a.CodeUnsupportedOperation {
			t.Errorf("ListTasks: %v", err)
		}
	}
	if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "t"}); said(err) == nil || said(err).Code != a2a.CodeTaskNotFound {
		t.Errorf("GetTask: %v", err)
	}
	calls, _ := agent.seen()
	if got := strings.Join(calls, " "); got != "tasks/list tasks/get tasks/pushNotificationConfig/get tasks/list tasks/list tasks/get" {
		t.Errorf("calls %s", got)
	}
	if h := agent.heads[0]; h.Get("A2A-Version") != "0.3" {
		t.Errorf("A2A-Version %q", h.Get("A2A-Version"))
	}
}

// Servers of 0.1 in Python take what they do not know for no request.
func TestNoListWhereItIsNoRequest(t *testing.T) {
	srv := httptest.NewServer(&oldAgent{speaks: "0.1 python"})
	defer srv.Close()
	c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{
		{URL: srv.URL, ProtocolBinding: "JSONRPC", ProtocolVersion: "0.2"},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{}); said(err) == nil || said(err).Code != a2a.CodeUnsupportedOperation {
		t.Errorf("ListTasks: %v", err)
	}
}

// The same over HTTP+JSON, where agents have all kinds of words for it.
func TestNoListOverREST(t *testing.T) {
	for _, status := range []int{404, 405, 501} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/tasks" {
				w.WriteHeader(status)
				return
			}
			w.WriteHeader(404)
			io.WriteString(w, `{"message":"Task not found"}`)
		}))
		c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{
			{URL: srv.URL, ProtocolBinding: "HTTP+JSON", ProtocolVersion: "0.3"},
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ListTasks(t.Context(), &a2a.ListTasksRequest{}); said(err) == nil || said(err).Code != a2a.CodeUnsupportedOperation {
			t.Errorf("%d: %v", status, err)
		}
		srv.Close()
	}
}

// Errors of HTTP+JSON have no form in 0.3: the server in Python says a text and a status.
func TestTooLateToCancelOverREST(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(409)
		io.WriteString(w, `{"message":"Task cannot be canceled"}`)
	}))
	defer srv.Close()
	c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{
		{URL: srv.URL, ProtocolBinding: "HTTP+JSON", ProtocolVersion: "0.3"},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CancelTask(t.Context(), &a2a.CancelTaskRequest{ID: "t"}); said(err) == nil || said(err).Code != a2a.CodeTaskNotCancelable {
		t.Errorf("got %v", err)
	}
}

// An agent whose card says gRPC of 1.0 and that has only the service of 0.3.
func TestGRPCOfAnotherVersion(t *testing.T) {
	var mu sync.Mutex
	var calls []string
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		calls = append(calls, r.URL.Path)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/grpc")
		switch r.URL.Path {
		case "/a2a.v1.A2AService/SendMessage": // a task t1 that is completed
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = w.Write([]byte{0, 0, 0, 0, 10, 0x0a, 8, 0x0a, 2, 't', '1', 0x1a, 2, 8, 3})
			w.Header().Set("Grpc-Status", "0")
		case "/a2a.v1.A2AService/GetTask":
			w.Header().Set("Grpc-Status", "5")
			w.Header().Set("Grpc-Message", "Task not found")
		default:
			w.Header().Set("Grpc-Status", "12")
			w.Header().Set("Grpc-Message", "unknown service")
		}
	}))
	srv.Config.Protocols = new(http.Protocols)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	srv.Start()
	defer srv.Close()
	c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{
		{URL: srv.URL, ProtocolBinding: "GRPC", ProtocolVersion: "1.0"},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		res, err := c.SendMessage(t.Context(), saying("x"))
		if err != nil || res.Task == nil || res.Task.ID != "t1" || res.Task.Status.State != a2a.TaskStateCompleted {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if c.Version() != "0.3" || len(calls) != 5 {
		t.Errorf("speaks %s after %q", c.Version(), calls)
	}
}

// A version that is forced is spoken, whatever the card says, and no other.
func TestForcedVersions(t *testing.T) {
	for _, tt := range []struct {
		speaks, card, forced, header string
		works                        bool
	}{
		{"0.1 js", "1.0", "0.1", "", true}, {"0.3", "1.0", "0.3", "0.3", true}, {"0.3", "1.0", "0.2", "", true},
		{"1.0 strict", "0.3", "1.0", "1.0", true}, {"0.3", "0.3", "1.0", "1.0", false}, {"0.1 js", "0.1", "0.3", "0.3", false},
		{"1.0", "1.0", "1.1", "1.1", true},
	} {
		agent := &oldAgent{speaks: tt.speaks}
		srv := httptest.NewServer(agent)
		defer srv.Close()
		c, err := New(&a2a.AgentCard{Name: "x", SupportedInterfaces: []*a2a.AgentInterface{
			{URL: srv.URL, ProtocolBinding: "JSONRPC", ProtocolVersion: tt.card},
		}}, &Options{Version: tt.forced, Extensions: []string{"https://e.example/x"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.SendMessage(t.Context(), saying("x")); (err == nil) != tt.works {
			t.Errorf("%+v: %v", tt, err)
		}
		calls, _ := agent.seen()
		if len(calls) != 1 || agent.heads[0].Get("A2A-Version") != tt.header {
			t.Errorf("%+v: %q with version %q", tt, calls, agent.heads[0].Get("A2A-Version"))
		}
		name := "A2A-Extensions"
		if tt.forced < "1.0" {
			name = "X-A2A-Extensions"
		}
		if agent.heads[0].Get(name) != "https://e.example/x" {
			t.Errorf("%+v: no %s in %v", tt, name, agent.heads[0])
		}
	}
}

// Agents without a card are found by asking, and no message is spent on it.
func TestAgentsWithoutACard(t *testing.T) {
	for _, tt := range []struct{ speaks, want string }{
		{"1.0", "JSONRPC 1.0"}, {"1.0 strict", "JSONRPC 1.0"}, {"0.3", "JSONRPC 0.3"}, {"0.3 bare", "JSONRPC 0.3"},
		{"0.1 python", "JSONRPC 0.1"}, {"0.1 js", "JSONRPC 0.1"}, {"1.0 rest", "HTTP+JSON 1.0"}, {"0.3 rest", "HTTP+JSON 0.3"},
	} {
		t.Run(tt.speaks, func(t *testing.T) {
			agent := &oldAgent{speaks: tt.speaks}
			srv := httptest.NewServer(agent)
			defer srv.Close()
			r := NewResolver(nil)
			for range 2 {
				c, err := r.Dial(t.Context(), srv.URL)
				if err != nil {
					t.Fatal(err)
				}
				if in := c.Interface(); in.ProtocolBinding+" "+in.ProtocolVersion != tt.want {
					t.Errorf("found %+v", in)
				}
				before, taken := agent.seen()
				if len(taken) > 0 || sends(before) > 0 || len(before) > 14 {
					t.Errorf("asked %q", before)
				}
				agent.mu.Lock()
				agent.calls = nil
				agent.mu.Unlock()
			}
			if calls, _ := agent.seen(); len(calls) > 0 {
				t.Errorf("asked again: %q", calls)
			}
			c, err := r.Dial(t.Context(), srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			els, err := collect(c.SendStreamingMessage(t.Context(), saying("x"))) // they do not stream
			if err != nil || len(els) != 1 || els[0].State() != a2a.TaskStateCompleted {
				t.Errorf("%s, %v", brief(els), err)
			}
			if _, taken := agent.seen(); len(taken) != 1 {
				t.Errorf("taken %q", taken)
			}
		})
	}
}

// The bare kind of 0.1 looks like 0.3 until a message is sent.
func TestABareAgentWithoutACard(t *testing.T) {
	agent := &oldAgent{speaks: "0.1 bare"}
	srv := httptest.NewServer(agent)
	defer srv.Close()
	c, err := Dial(t.Context(), srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SendMessage(t.Context(), saying("x")); err != nil {
		t.Fatal(err)
	}
	if _, taken := agent.seen(); len(taken) != 1 || c.face.Load().version != "0.1" {
		t.Errorf("taken %q in %s", taken, c.face.Load().version)
	}
}

func TestNothingAtAnAddress(t *testing.T) {
	agent := &oldAgent{speaks: "site"}
	srv := httptest.NewServer(agent)
	defer srv.Close()
	_, err := Dial(t.Context(), srv.URL, nil)
	e, _ := err.(*CardError)
	if e == nil || e.Kind != CardNotFound || !strings.Contains(err.Error(), "1.0 over JSONRPC") || !strings.Contains(err.Error(), "0.3 over HTTP+JSON") {
		t.Errorf("a site: %v", err)
	}
	agent.become("broken")
	if _, err = Dial(t.Context(), srv.URL, nil); err == nil {
		t.Error("an agent was found behind a site that is broken")
	}
	agent.become("site")
	_, err = Dial(t.Context(), srv.URL+"/card.json", nil)
	if calls, _ := agent.seen(); err == nil || strings.Contains(err.Error(), "over") || len(calls) == 0 {
		t.Errorf("the URL of a card: %v", err)
	}
	_, err = Dial(t.Context(), srv.URL, &Options{Version: "0.3", Bindings: []string{"HTTP+JSON"}})
	if err == nil || !strings.Contains(err.Error(), "tried 0.3 over HTTP+JSON") {
		t.Errorf("forced: %v", err)
	}
	agent.become("locked")
	_, err = Dial(t.Context(), srv.URL, nil)
	if e, _ := err.(*CardError); e == nil || e.Kind != CardForbidden {
		t.Errorf("an agent that wants credentials: %v", err)
	}
}
