package dialect

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// The server reads from a route of 0.3 the request that a client built it from.
func TestV03RoutesThereAndBack(t *testing.T) {
	n := int32(3)
	message := &a2a.Message{MessageID: "m", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("hi"), a2a.RawPart([]byte{1}, "a/b", "f")}}
	hook := func(id string) *a2a.TaskPushNotificationConfig {
		return &a2a.TaskPushNotificationConfig{ID: id, TaskID: "a/b:c", URL: "http://h"}
	}
	for _, tt := range []struct {
		op   Op
		req  any
		want string // method, path and query of the usual route
	}{
		{SendMessage, &a2a.SendMessageRequest{Message: message, Configuration: new(a2a.SendMessageConfiguration)}, "POST /v1/message:send?"},
		{SendStreamingMessage, &a2a.SendMessageRequest{Message: message, Configuration: &a2a.SendMessageConfiguration{ReturnImmediately: true}}, "POST /v1/message:stream?"},
		{GetTask, &a2a.GetTaskRequest{ID: "a/b:c", HistoryLength: &n}, "GET /v1/tasks/a%2Fb%3Ac?historyLength=3"},
		{GetTask, &a2a.GetTaskRequest{ID: "t"}, "GET /v1/tasks/t?"},
		{ListTasks, &a2a.ListTasksRequest{ContextID: "c", Status: a2a.TaskStateCanceled, PageSize: &n, StatusTimestampAfter: time.UnixMilli(1).UTC(), IncludeArtifacts: true},
			"GET /v1/tasks?contextId=c&includeArtifacts=true&lastUpdatedAfter=1970-01-01T00%3A00%3A00.001Z&pageSize=3&status=TASK_STATE_CANCELLED"},
		{CancelTask, &a2a.CancelTaskRequest{ID: "a/b:c"}, "POST /v1/tasks/a%2Fb%3Ac:cancel?"},
		{SubscribeToTask, &a2a.SubscribeToTaskRequest{ID: "t"}, "POST /v1/tasks/t:subscribe?"},
		{CreateTaskPushNotificationConfig, hook("p"), "POST /v1/tasks/a%2Fb%3Ac/pushNotificationConfigs?"},
		{GetTaskPushNotificationConfig, &a2a.GetTaskPushNotificationConfigRequest{TaskID: "t", ID: "p/q"}, "GET /v1/tasks/t/pushNotificationConfigs/p%2Fq?"},
		{ListTaskPushNotificationConfigs, &a2a.ListTaskPushNotificationConfigsRequest{TaskID: "t", PageSize: 3, PageToken: "x"}, "GET /v1/tasks/t/pushNotificationConfigs?pageSize=3&pageToken=x"},
		{DeleteTaskPushNotificationConfig, &a2a.DeleteTaskPushNotificationConfigRequest{TaskID: "t", ID: "p"}, "DELETE /v1/tasks/t/pushNotificationConfigs/p?"},
		{GetExtendedAgentCard, new(a2a.GetExtendedAgentCardRequest), "GET /v1/card?"},
	} {
		for i := range Get(tt.op).Routes[V03] {
			call, err := BuildREST(V03, tt.op, i, tt.req)
			if err != nil {
				t.Errorf("%s: %v", tt.op, err)
				continue
			}
			if got := call.Method + " " + call.Path + "?" + call.Query; i == 0 && got != tt.want {
				t.Errorf("%s calls %s", tt.op, got)
			}
			m, _, err := DetectREST(call.Method, call.Path, "", false)
			if err != nil || m.Dialect != V03 || m.Op != tt.op {
				t.Errorf("%s %s is %s of %s (%v)", call.Method, call.Path, m.Op, m.Dialect, err)
				continue
			}
			query, err := url.ParseQuery(call.Query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeREST(m, query, call.Body)
			if err != nil {
				t.Errorf("%s: %v", tt.op, err)
				continue
			}
			switch r := got.(type) {
			case *a2a.SendMessageRequest:
				r.Legacy = nil
			case *a2a.SubscribeToTaskRequest:
				r.Legacy = nil
			case *a2a.CancelTaskRequest:
				r.Legacy = nil
			case *a2a.TaskPushNotificationConfig:
				r.Legacy = nil
			case *a2a.GetTaskPushNotificationConfigRequest:
				r.Legacy = nil
			}
			if d := v03Diff(tt.req, got); d != "" {
				t.Errorf("%s: %s", tt.op, d)
			}
		}
	}
}

// What clients of 0.3 send to the routes.
func TestV03Routes(t *testing.T) {
	for _, tt := range []struct{ name, method, path, query, body, want string }{
		{"JavaScript cancels", "POST", "/v1/tasks/t:cancel", "", ``, `{"id":"t"}`},
		{"the text cancels", "POST", "/v1/tasks/t:cancel", "", `{"name":"tasks/t"}`, `{"id":"t"}`},
		{"the path counts", "POST", "/v1/tasks/t:cancel", "", `{"name":"tasks/other"}`, `{"id":"t"}`},
		{"the text subscribes", "POST", "/v1/tasks/t:subscribe", "", `{"name":"tasks/t"}`, `{"id":"t"}`},
		{"the proto subscribes", "GET", "/v1/tasks/t:subscribe", "", ``, `{"id":"t"}`},
		{"snake case", "GET", "/v1/tasks/t", "history_length=2", ``, `{"id":"t","historyLength":2}`},
		{"all of the history", "GET", "/v1/tasks/t", "historyLength=0", ``, `{"id":"t"}`},
		{"a list", "GET", "/v1/tasks", "status=working&lastUpdatedAfter=2026-01-02T03:04:05%2B01:00", ``, `{"status":"TASK_STATE_WORKING","statusTimestampAfter":"2026-01-02T02:04:05.000Z"}`},
		{"JavaScript sets a webhook", "POST", "/v1/tasks/t/pushNotificationConfigs", "", `{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"u"}}`, `{"id":"p","taskId":"t","url":"u"}`},
		{"a bare webhook", "POST", "/v1/tasks/t/pushNotificationConfigs", "", `{"id":"p","url":"u"}`, `{"id":"p","taskId":"t","url":"u"}`},
		{"a webhook in config", "POST", "/v1/tasks/t/pushNotificationConfigs", "", `{"config":{"pushNotificationConfig":{"id":"p","url":"u"}}}`, `{"id":"p","taskId":"t","url":"u"}`},
		{"the proto sets a webhook", "POST", "/v1/tasks/t/pushNotificationConfigs", "configId=p", `{"pushNotificationConfig":{"url":"u"}}`, `{"id":"p","taskId":"t","url":"u"}`},
		{"the proto sets a webhook with a name", "POST", "/v1/tasks/t/pushNotificationConfigs", "config_id=p", `{"name":"tasks/t","pushNotificationConfig":{"url":"u"}}`, `{"id":"p","taskId":"t","url":"u"}`},
		{"the body counts", "POST", "/v1/tasks/t/pushNotificationConfigs", "configId=q", `{"pushNotificationConfig":{"id":"p","url":"u"}}`, `{"id":"p","taskId":"t","url":"u"}`},
	} {
		m, _, err := DetectREST(tt.method, tt.path, "", true)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		query, _ := url.ParseQuery(tt.query)
		v, err := DecodeREST(m, query, []byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := string(v.(appender).AppendJSON(nil)); got != tt.want {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

// The card of HTTP+JSON has security schemes for readers of 0.3's JSON schema and for
// readers of its proto.
func TestV03CardForBothReaders(t *testing.T) {
	card := &a2a.AgentCard{
		Name: "n", SupportedInterfaces: []*a2a.AgentInterface{{URL: "http://h", ProtocolBinding: a2a.BindingHTTPJSON, ProtocolVersion: "0.3"}},
		SecuritySchemes:      map[string]*a2a.SecurityScheme{"b": {HTTPAuth: &a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}},
		SecurityRequirements: []a2a.SecurityRequirement{{"b": {"s"}}},
	}
	for c, want := range map[v03Codec]string{
		{}:          `"securitySchemes":{"b":{"type":"http","scheme":"Bearer"}},"security":[{"b":["s"]}]`,
		{formProto}: `"securitySchemes":{"b":{"type":"http","scheme":"Bearer","httpAuthSecurityScheme":{"scheme":"Bearer"}}},"security":[{"b":["s"]}]`,
	} {
		doc := c.AppendResult(nil, GetExtendedAgentCard, nil, card)
		if got := strings.ReplaceAll(string(doc), " ", ""); !strings.Contains(got, want) {
			t.Errorf("%s", got)
		}
		v, err := c.DecodeResult(GetExtendedAgentCard, nil, doc)
		if err != nil {
			t.Fatal(err)
		}
		got := v.(*a2a.AgentCard)
		if d := v03Diff(card.SecuritySchemes, got.SecuritySchemes) + v03Diff(card.SecurityRequirements, got.SecurityRequirements) +
			v03Diff(card.SupportedInterfaces, got.SupportedInterfaces); d != "" {
			t.Error(d)
		}
	}
}

// The Go implementation calls the routes of 1.0 in version 0.3, with requests and
// answers in the TS form there, and names in snake case.
func TestV03OnTheRoutesOfOne(t *testing.T) {
	for _, tt := range []struct{ method, path, body, want string }{
		{"POST", "/message:send", `{"message":{"kind":"message","message_id":"m","role":"user","parts":[{"kind":"data","data":{"data":{}}}]},"configuration":{}}`,
			`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"data":{}}}]},"configuration":{}}`},
		{"GET", "/tasks/t", ``, `{"id":"t"}`},
		{"POST", "/tasks/t:subscribe", ``, `{"id":"t"}`},
		{"POST", "/tasks/t/pushNotificationConfigs", `{"task_id":"t","push_notification_config":{"id":"p","url":"u"}}`, `{"id":"p","taskId":"t","url":"u"}`},
	} {
		m, _, err := DetectREST(tt.method, tt.path, "0.3", false)
		if err != nil || m.Dialect != V03 || m.Codec() != (v03Codec{}) {
			t.Errorf("%s %s is of %s with %v (%v)", tt.method, tt.path, m.Dialect, m.Codec(), err)
			continue
		}
		v, err := DecodeREST(m, nil, []byte(tt.body))
		if err != nil {
			t.Errorf("%s %s: %v", tt.method, tt.path, err)
		} else if got := string(v.(appender).AppendJSON(nil)); got != tt.want {
			t.Errorf("%s %s: %s", tt.method, tt.path, got)
		}
	}
	for path, want := range map[string]Codec{"/v1/tasks/t": v03Codec{formProto}, "/tasks/t": v1Codec{}} {
		version := map[bool]string{true: "1.0"}[path[1] != 'v']
		if m, _, err := DetectREST("GET", path, version, true); err != nil || m.Codec() != want {
			t.Errorf("%s: %v, %v", path, m.Codec(), err)
		}
	}
	if _, _, err := DetectREST("GET", "/tasks/t", "0.3", true); err == nil {
		t.Error("0.3 has these routes, strictly")
	}
	if m, _, err := DetectREST("GET", "/acme/tasks/t", "0.3", false); err != nil || m.Dialect != V10 {
		t.Errorf("the path of a tenant in 0.3: %v, %v", m.Dialect, err)
	}
}
