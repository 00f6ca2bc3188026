package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// fake is a Service made of the functions a test needs.
type fake struct {
	a2a.Unimplemented
	send      func(context.Context, *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error)
	get       func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error)
	stream    func(context.Context, *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error]
	subscribe func(context.Context, *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error]
}

func (f *fake) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	return f.send(ctx, req)
}

func (f *fake) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if f.get == nil {
		return &a2a.Task{ID: req.ID, ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}, nil
	}
	return f.get(ctx, req)
}

func (f *fake) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return f.stream(ctx, req)
}

func (f *fake) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[*a2a.StreamResponse, error] {
	return f.subscribe(ctx, req)
}

func (f *fake) DeleteTaskPushNotificationConfig(context.Context, *a2a.DeleteTaskPushNotificationConfigRequest) error {
	return nil
}

func (f *fake) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return testCard(), nil
}

func testCard() *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "Fake", Description: "Made for tests.", Version: "1",
		Capabilities: a2a.AgentCapabilities{Extensions: []*a2a.AgentExtension{
			{URI: "https://example.org/ext/a/v1"}, {URI: "https://example.org/ext/b/v1"},
		}},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
	}
}

// do sends a request to h. headers are "Name: value".
func do(h http.Handler, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const taskJSON = `{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}`

func getTask(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"GetTask","params":{"id":"t1"}}`
}

// rpcError is the answer with one error without fields.
func rpcError(id, code, message, reason string) string {
	text, _ := json.Marshal(message)
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + code + `,"message":` + string(text) +
		`,"data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","domain":"a2a-protocol.org"}]}}`
}

func TestErrorsOfTheServiceDoNotLeak(t *testing.T) {
	secret := errors.New("SELECT * FROM tasks")
	for _, tt := range []struct {
		name   string
		err    error
		code   string
		status int
		log    string
	}{
		{"plain", secret, `"code":-32603,"message":"Internal error"`, 500, "level=ERROR"},
		{"cause", &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "no such task", Cause: secret}, `"code":-32001,"message":"no such task"`, 404, "level=DEBUG"},
		{"wrapped", errors.Join(secret, a2a.ErrTaskNotFound), `"code":-32001,"message":"task not found"`, 404, "level=DEBUG"},
		{"internal with a message", &a2a.Error{Code: a2a.CodeInternal, Message: "the agent broke", Cause: secret}, `"code":-32603,"message":"the agent broke"`, 500, "level=ERROR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			h := New(&fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return nil, tt.err }}, testCard(), &Options{
				Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			})
			rpc := do(h, "POST", "/", getTask("1"))
			if rpc.Code != 200 || !strings.Contains(rpc.Body.String(), tt.code) {
				t.Errorf("JSON-RPC: %d %s", rpc.Code, rpc.Body)
			}
			rest := do(h, "GET", "/tasks/t1", "")
			if rest.Code != tt.status {
				t.Errorf("HTTP+JSON: %d %s", rest.Code, rest.Body)
			}
			if all := rpc.Body.String() + rest.Body.String(); strings.Contains(all, "SELECT") {
				t.Errorf("the cause went out: %s", all)
			}
			if !strings.Contains(log.String(), "SELECT") || !strings.Contains(log.String(), tt.log) {
				t.Errorf("logged: %s", log.String())
			}
		})
	}
}

func TestPanicsBecomeInternalErrors(t *testing.T) {
	var log bytes.Buffer
	h := New(&fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { panic("at the disco") }}, testCard(), &Options{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	w := do(h, "POST", "/", getTask(`"x"`))
	if got, want := w.Body.String(), rpcError(`"x"`, "-32603", "Internal error", "INTERNAL_ERROR"); w.Code != 200 || got != want {
		t.Errorf("%d %s, want %s", w.Code, got, want)
	}
	if w := do(h, "GET", "/tasks/t1", ""); w.Code != 500 || strings.Contains(w.Body.String(), "disco") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "at the disco") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log has neither panic nor stack: %s", log.String())
	}
}

// R-066 R-113 R-115 R-117 R-118.
func TestVersionHeader(t *testing.T) {
	lenient, strict := New(&fake{}, testCard(), nil), New(&fake{}, testCard(), &Options{StrictVersions: true})
	for _, tt := range []struct {
		name   string
		h      http.Handler
		query  string
		header []string
		ok     bool
	}{
		{"none", lenient, "", nil, true},
		{"empty", lenient, "", []string{"A2A-Version: "}, true},
		{"R-066 any case", strict, "", []string{"a2a-version: 1.0"}, true},
		{"R-113 patch", strict, "", []string{"A2A-Version: 1.0.7"}, true},
		{"R-115 query", strict, "?A2A-Version=1.0", nil, true},
		{"query in lower case", strict, "?a2a-version=1.0", nil, true},
		{"header wins", strict, "?A2A-Version=99.0", []string{"A2A-Version: 1.0"}, true},
		{"header wins, badly", lenient, "?A2A-Version=1.0", []string{"A2A-Version: 99.0"}, false},
		{"R-117 unsupported", lenient, "", []string{"A2A-Version: 99.0"}, false},
		{"0.3 for a name of 1.0", lenient, "", []string{"A2A-Version: 0.3"}, true},
		{"0.3 for a name of 1.0, strictly", strict, "", []string{"A2A-Version: 0.3"}, false},
		{"R-118 strict and none", strict, "", nil, false},
		{"R-118 strict and empty", strict, "", []string{"A2A-Version: "}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rpc := do(tt.h, "POST", "/"+tt.query, getTask("1"), tt.header...)
			rest := do(tt.h, "GET", "/tasks/t1"+tt.query, "", tt.header...)
			if tt.ok {
				if rest.Code != 200 || !strings.Contains(rpc.Body.String(), `"result"`) {
					t.Errorf("refused: %s, %d %s", rpc.Body, rest.Code, rest.Body)
				}
				return
			}
			if rpc.Code != 200 || rest.Code != 400 || !strings.Contains(rpc.Body.String(), "-32009") {
				t.Errorf("accepted: %s, %d %s", rpc.Body, rest.Code, rest.Body)
			}
			for _, b := range []string{rpc.Body.String(), rest.Body.String()} {
				if !strings.Contains(b, `"metadata":{"supportedVersions":"1.0,0.3,0.2,0.1,1.1"}`) {
					t.Errorf("no supported versions in %s", b)
				}
			}
		})
	}
	// The version is checked before anything else (DIALECTS A21).
	w := do(lenient, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"nonsense","params":5}`, "A2A-Version: 9.9")
	if !strings.Contains(w.Body.String(), "-32009") {
		t.Error(w.Body)
	}
}

// R-155 R-158 R-216 R-236.
func TestExtensionsTravel(t *testing.T) {
	var got a2a.Caller
	h := New(&fake{get: func(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
		got = a2a.CallerFrom(ctx)
		return &a2a.Task{ID: "t1"}, nil
	}}, testCard(), nil)
	for _, tt := range []struct {
		header []string
		want   string
		active string
	}{
		{nil, "", ""},
		{[]string{"A2A-Extensions: https://example.org/ext/b/v1 ,, urn:x"}, "https://example.org/ext/b/v1 urn:x", "https://example.org/ext/b/v1"},
		{[]string{"a2a-extensions: urn:x", "A2A-Extensions: https://example.org/ext/b/v1", "X-A2A-Extensions: https://example.org/ext/a/v1,urn:x"},
			"urn:x https://example.org/ext/b/v1 https://example.org/ext/a/v1", "https://example.org/ext/a/v1, https://example.org/ext/b/v1"},
		{[]string{"A2A-Extensions: https://example.org/ext/a/v2"}, "https://example.org/ext/a/v2", ""},
	} {
		for _, w := range []*httptest.ResponseRecorder{
			do(h, "POST", "/", getTask("1"), tt.header...), do(h, "GET", "/tasks/t1", "", tt.header...),
		} {
			if w.Code != 200 || strings.Join(got.Extensions, " ") != tt.want || w.Header().Get("A2A-Extensions") != tt.active {
				t.Errorf("%v: %d, caller %v, active %q", tt.header, w.Code, got.Extensions, w.Header().Get("A2A-Extensions"))
			}
		}
	}
}

// A caller that a handler in front has set stays; the extensions are added.
func TestCallerInFrontIsKept(t *testing.T) {
	var got a2a.Caller
	h := New(&fake{get: func(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
		got = a2a.CallerFrom(ctx)
		return &a2a.Task{ID: "t1"}, nil
	}}, testCard(), nil)
	auth := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(a2a.WithCaller(r.Context(), a2a.Caller{Subject: "alice"})))
	})
	do(auth, "GET", "/tasks/t1", "", "A2A-Extensions: urn:x")
	if got.Subject != "alice" || len(got.Extensions) != 1 {
		t.Errorf("caller %+v", got)
	}
}

func TestMountedBelowAPrefix(t *testing.T) {
	h := http.StripPrefix("/agents/x", New(&fake{}, testCard(), nil))
	for _, target := range []string{"/agents/x", "/agents/x/"} {
		w := do(h, "POST", target, getTask("1"))
		if w.Code != 200 || w.Body.String() != `{"jsonrpc":"2.0","id":1,"result":`+taskJSON+`}` {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		w = do(h, "GET", target, "")
		if w.Code != 200 || !strings.Contains(w.Body.String(), "http://example.com/agents/x/.well-known/agent-card.json") {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	if w := do(h, "GET", "/agents/x/tasks/a%2Fb", ""); !strings.Contains(w.Body.String(), `"id":"a/b"`) {
		t.Error(w.Body)
	}
	if w := do(h, "GET", "/agents/x/.well-known/agent-card.json", ""); !strings.Contains(w.Body.String(), `"url":"http://example.com/agents/x"`) {
		t.Error(w.Body)
	}
}

func TestProbes(t *testing.T) {
	var ready error
	s := New(&fake{}, testCard(), &Options{Ready: func() error { return ready }})
	check := func(target string, status int, body string) {
		t.Helper()
		if w := do(s, "GET", target, ""); w.Code != status || w.Body.String() != body {
			t.Errorf("%s: %d %q, want %d %q", target, w.Code, w.Body, status, body)
		}
	}
	check("/livez", 200, "ok\n")
	check("/readyz", 200, "ok\n")
	ready = errors.New("the store is read-only")
	check("/livez", 200, "ok\n")
	check("/readyz", 503, "the store is read-only\n")
	ready = nil
	s.Drain()
	check("/livez", 200, "ok\n")
	check("/readyz", 503, "shutting down\n")
	if w := do(s, "POST", "/livez", ""); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("%d, allow %q", w.Code, w.Header().Get("Allow"))
	}
}

func TestHint(t *testing.T) {
	card := testCard()
	card.Name = "Two\nLines"
	h := New(&fake{}, card, &Options{PublicURL: "https://agents.example.org/"})
	w := do(h, "GET", "/", "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(w.Body.String(), `"Two\nLines" is an agent`) ||
		!strings.Contains(w.Body.String(), "https://agents.example.org/.well-known/agent-card.json") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := do(h, "DELETE", "/", ""); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD, POST" || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestNewRefusesNil(t *testing.T) {
	for name, f := range map[string]func(){
		"service": func() { New(nil, testCard(), nil) },
		"card":    func() { New(&fake{}, nil, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic without a %s", name)
				}
			}()
			f()
		}()
	}
}
