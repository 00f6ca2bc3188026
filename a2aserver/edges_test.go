package a2aserver

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/parley-a2a/parley/a2a"
)

// A card of 1.0 alone still says where the agent is.
func TestCardV1NamesInterfacesOfOne(t *testing.T) {
	want := []*a2a.AgentInterface{
		{URL: "http://example.com", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
		{URL: "http://example.com", ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.0"},
	}
	h := New(&fake{}, testCard(), &Options{CardProfile: CardV1})
	for _, path := range []string{cardPath, oldCardPath} {
		if d := cmp.Diff(want, interfaces(t, do(h, "GET", path, "").Body.Bytes())); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
}

// gRPC clients take host:port and nothing else.
func TestAddressOverGRPC(t *testing.T) {
	for base, want := range map[string]string{
		"https://a.example.org":      "a.example.org:443",
		"http://a.example.org":       "a.example.org:80",
		"https://a.example.org:8443": "a.example.org:8443",
		"http://[::1]":               "[::1]:80",
		"http://[::1]:7275":          "[::1]:7275",
		"https://a.example.org/x":    "",
		"/x":                         "",
		"":                           "",
	} {
		if got := grpcHost(base); got != want {
			t.Errorf("%s: %q, want %q", base, got, want)
		}
	}
}

// An unrecognised call is refused in the form of the requested version: clients
// before 1.0 expect data to be an object.
func TestUnknownMethodsInTheFormOfTheVersion(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for version, array := range map[string]bool{"1.0": true, "1.1": true, "0.3": false, "0.1": false, "": false} {
		w := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"tasks/sent","params":{}}`, "A2A-Version: "+version)
		if doc := w.Body.String(); !strings.Contains(doc, `"code":-32601`) || strings.Contains(doc, `"data":[`) != array {
			t.Errorf("%q: %s", version, doc)
		}
	}
}

// The error quotes the method as it was sent, but cuts a long one.
func TestMethodsThatAreNotAllowed(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for method, said := range map[string]string{"PUT": "PUT is not allowed", strings.Repeat("X", 16): strings.Repeat("X", 16) + " is not", strings.Repeat("X", 17): strings.Repeat("X", 16) + " is not"} {
		w := do(h, method, "/tasks/t1", "")
		if w.Code != 405 || w.Header().Get("Allow") == "" || !strings.Contains(w.Body.String(), said) {
			t.Errorf("%s: %d %v %s", method, w.Code, w.Header(), w.Body)
		}
	}
}

// Over gRPC, TLS is the connection's.
func TestAddressOverGRPCWithTLS(t *testing.T) {
	s := New(&fake{}, testCard(), nil)
	for want, auth := range map[string]credentials.AuthInfo{"http://a:1": nil, "https://a:1": credentials.TLSInfo{}} {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(":authority", "a:1"))
		ctx = peer.NewContext(ctx, &peer.Peer{AuthInfo: auth})
		q := ofGRPC(ctx, 0)
		if got := s.grpcBaseURL(&q); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An event that a dialect cannot express is left out.
func TestElementsThatDoNotShow(t *testing.T) {
	h := New(&fake{stream: func(context.Context, *a2a.SendMessageRequest) iter.Seq2[*a2a.StreamResponse, error] {
		return func(yield func(*a2a.StreamResponse, error) bool) {
			task := &a2a.Task{ID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateWorking}}
			done := &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted}}
			_ = yield(&a2a.StreamResponse{Task: task}, nil) && yield(&a2a.StreamResponse{}, nil) && yield(&a2a.StreamResponse{StatusUpdate: done}, nil)
		}
	}}, testCard(), nil)
	const params = `"params":{"id":"t1","message":{"messageId":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}}`
	for _, method := range []string{"tasks/sendSubscribe", "message/stream"} {
		w := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"`+method+`",`+params+`}`)
		events := strings.Split(strings.TrimSpace(w.Body.String()), "\n\n")
		for _, ev := range events {
			if _, data, ok := strings.Cut(ev, "data: "); !ok || !json.Valid([]byte(data)) {
				t.Errorf("%s: %q", method, ev)
			}
		}
		if len(events) != 2 {
			t.Errorf("%s: %q", method, events)
		}
	}
}

// The extended card can only be read, so other methods are refused.
func TestExtendedCardIsOnlyRead(t *testing.T) {
	w := do(New(failing{err: a2a.Errorf(a2a.CodeInternal, "was asked")}, testCard(), nil), "POST", extendedPath, "{}")
	if w.Code != 405 || !json.Valid(w.Body.Bytes()) || strings.Contains(w.Body.String(), "was asked") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
