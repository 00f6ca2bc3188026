package a2aclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// methods is an agent on JSON-RPC that knows these methods, and what it was
// asked.
type methods struct {
	answers map[string]string // what is in the envelope

	mu    sync.Mutex
	calls []string
}

func (m *methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var env struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &env)
	m.mu.Lock()
	m.calls = append(m.calls, env.Method)
	m.mu.Unlock()
	answer, ok := m.answers[env.Method]
	if !ok {
		answer = `"error":{"code":-32601,"message":"Method not found"}`
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, env.ID, answer)
}

func (m *methods) client(t *testing.T, version string) *Client {
	srv := httptest.NewServer(m)
	t.Cleanup(srv.Close)
	c, err := New(&a2a.AgentCard{
		Name: "x", Capabilities: a2a.AgentCapabilities{PushNotifications: yes},
		SupportedInterfaces: []*a2a.AgentInterface{{URL: srv.URL, ProtocolBinding: "JSONRPC", ProtocolVersion: version}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	gone     = `"error":{"code":-32001,"message":"Task not found"}`
	taskIn03 = `"result":{"kind":"task","id":"t1","contextId":"c1","status":{"state":"completed"}}`
	taskIn01 = `"result":{"id":"t1","sessionId":"s1","status":{"state":"completed"}}`
	refusal  = `"error":{"code":-32600,"message":"not like this"}`
)

func speaksOnly(versions string) string {
	return `"error":{"code":-32009,"message":"no","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED",` +
		`"domain":"a2a-protocol.org","metadata":{"supportedVersions":"` + versions + `"}}]}`
}

// An agent that says what it speaks is not asked for anything else, and the
// best of that first.
func TestVersionsThatAnAgentNames(t *testing.T) {
	for _, tt := range []struct {
		says  string
		calls []string
	}{
		{"0.1", []string{"SendMessage", "tasks/get", "tasks/pushNotification/get", "tasks/send"}},
		{"0.1, 0.3.0", []string{"SendMessage", "tasks/get", "tasks/pushNotificationConfig/get", "message/send"}},
		{"9.9, 0.1", []string{"SendMessage", "tasks/get", "tasks/pushNotification/get", "tasks/send"}},
	} {
		agent := &methods{answers: map[string]string{
			"SendMessage": speaksOnly(tt.says), "tasks/get": gone, "tasks/pushNotification/get": gone, "tasks/pushNotificationConfig/get": gone,
			"message/send": taskIn03, "tasks/send": taskIn01,
		}}
		c := agent.client(t, "1.0")
		if _, err := c.SendMessage(t.Context(), saying("x")); err != nil || !slices.Equal(agent.calls, tt.calls) {
			t.Errorf("%s: %v, calls %q", tt.says, err, agent.calls)
		}
	}
}

// An agent of 0.3 without webhooks looks like one of 0.1. That it refusal a
// request does not make it one.
func TestARefusalIsNoOtherVersion(t *testing.T) {
	agent := &methods{answers: map[string]string{"message/send": refusal, "tasks/get": gone}}
	c := agent.client(t, "0.3")
	for range 2 {
		if _, err := c.SendMessage(t.Context(), saying("x")); !errors.Is(err, &a2a.Error{Code: a2a.CodeInvalidRequest}) {
			t.Error(err)
		}
	}
	if slices.Contains(agent.calls, "tasks/send") || agent.calls[len(agent.calls)-1] != "message/send" {
		t.Errorf("calls %q", agent.calls)
	}
}

// What 1.0 has, an agent of 1.0 lacks by mistake, and the client does not say
// otherwise; before, it may.
func TestOperationsThatAreMissing(t *testing.T) {
	for version, want := range map[string]a2a.Code{"1.0": a2a.CodeMethodNotFound, "0.3": a2a.CodeUnsupportedOperation} {
		agent := &methods{answers: map[string]string{"GetTask": gone, "tasks/get": gone, "tasks/pushNotificationConfig/get": gone}}
		_, err := agent.client(t, version).ListTaskPushNotificationConfigs(t.Context(), &a2a.ListTaskPushNotificationConfigsRequest{TaskID: "t1"})
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != want {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// Resources that a page of HTML stands for are no card.
func TestAPageInPlaceOfACard(t *testing.T) {
	agent := &methods{answers: map[string]string{"GetTask": gone, "SendMessage": `"result":{"task":{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, aPage)
			return
		}
		agent.ServeHTTP(w, r)
	}))
	defer srv.Close()
	c, err := NewResolver(nil).Dial(t.Context(), srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.SendMessage(t.Context(), saying("x")); err != nil || res.Task.ID != "t1" {
		t.Errorf("%v, %v", res, err)
	}
}
