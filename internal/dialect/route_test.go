package dialect

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
)

// R-237 R-238: every route, with and without a tenant.
func TestMatchRoute(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		op           Op
		tenant       string
		fields       []PathField
	}{
		{"POST", "/message:send", SendMessage, "", nil},
		{"POST", "/message:stream", SendStreamingMessage, "", nil},
		{"GET", "/tasks", ListTasks, "", nil},
		{"GET", "/tasks/t1", GetTask, "", []PathField{{"id", "t1"}}},
		{"POST", "/tasks/t1:cancel", CancelTask, "", []PathField{{"id", "t1"}}},
		{"POST", "/tasks/t1:subscribe", SubscribeToTask, "", []PathField{{"id", "t1"}}},
		{"GET", "/tasks/t1:subscribe", SubscribeToTask, "", []PathField{{"id", "t1"}}},
		{"POST", "/tasks/t1/pushNotificationConfigs", CreateTaskPushNotificationConfig, "", []PathField{{"taskId", "t1"}}},
		{"GET", "/tasks/t1/pushNotificationConfigs", ListTaskPushNotificationConfigs, "", []PathField{{"taskId", "t1"}}},
		{"GET", "/tasks/t1/pushNotificationConfigs/c1", GetTaskPushNotificationConfig, "", []PathField{{"taskId", "t1"}, {"id", "c1"}}},
		{"DELETE", "/tasks/t1/pushNotificationConfigs/c1", DeleteTaskPushNotificationConfig, "", []PathField{{"taskId", "t1"}, {"id", "c1"}}},
		{"GET", "/extendedAgentCard", GetExtendedAgentCard, "", nil},
		{"HEAD", "/tasks/t1", GetTask, "", []PathField{{"id", "t1"}}},
		{"HEAD", "/acme/tasks", ListTasks, "acme", nil},

		{"POST", "/acme/message:send", SendMessage, "acme", nil},
		{"GET", "/acme/tasks", ListTasks, "acme", nil},
		{"POST", "/acme/tasks/t1:cancel", CancelTask, "acme", []PathField{{"id", "t1"}}},
		{"GET", "/a%2Fb/extendedAgentCard", GetExtendedAgentCard, "a/b", nil},
		{"GET", "/%74asks/tasks", ListTasks, "tasks", nil},

		{"GET", "/tasks/tasks", GetTask, "", []PathField{{"id", "tasks"}}},
		{"POST", "/tasks/a:b:cancel", CancelTask, "", []PathField{{"id", "a:b"}}},
		{"POST", "/tasks/x:cancel:subscribe", SubscribeToTask, "", []PathField{{"id", "x:cancel"}}},
		{"GET", "/tasks/x%3Asubscribe", GetTask, "", []PathField{{"id", "x:subscribe"}}},
		{"GET", "/tasks/a:b", GetTask, "", []PathField{{"id", "a:b"}}},
		{"GET", "/tasks/a%2Fb%20%C3%A9+", GetTask, "", []PathField{{"id", "a/b é+"}}},
	} {
		m, allow, ok := MatchRoute(V10, tt.method, tt.path)
		if !ok || m.Op != tt.op || m.Tenant != tt.tenant || !cmp.Equal(m.Fields, tt.fields) {
			t.Errorf("%s %s: %v %q %v, allow %v, %v", tt.method, tt.path, m.Op, m.Tenant, m.Fields, allow, ok)
		}
	}
}

func TestMatchRouteRefuses(t *testing.T) {
	for _, tt := range []struct{ method, path, allow string }{
		{"GET", "", ""},
		{"GET", "/", ""},
		{"GET", "//", ""},
		{"GET", "/tasks/", ""},
		{"GET", "//tasks", ""},
		{"GET", "/tasks//pushNotificationConfigs", ""},
		{"POST", "/tasks/:cancel", "GET,HEAD"}, // the task ":cancel"
		{"GET", "/tasks/a%2", ""},
		{"POST", "/message:Send", ""},
		{"GET", "/v1/x/tasks", ""},
		{"GET", "/nothing", ""},
		{"GET", "/message:send", "POST"},
		{"GET", "/acme/message:stream", "POST"},
		{"PUT", "/tasks", "GET,HEAD"},
		{"GET", "/tasks/t1:cancel", "POST"},
		{"DELETE", "/tasks/t1:subscribe", "POST,GET"},
		{"HEAD", "/tasks/t1:subscribe", "POST,GET"}, // a stream that nobody would read
		{"PATCH", "/tasks/t1/pushNotificationConfigs", "POST,GET,HEAD"},
		{"POST", "/tasks/t1/pushNotificationConfigs/c1", "GET,HEAD,DELETE"},
		{"POST", "/tasks/t1", "GET,HEAD"},
	} {
		m, allow, ok := MatchRoute(V10, tt.method, tt.path)
		if ok || strings.Join(allow, ",") != tt.allow {
			t.Errorf("%s %s: %v, allow %v, %v", tt.method, tt.path, m.Op, allow, ok)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// samples holds one full request of every operation.
func samples(tenant, id, other string, n int32) map[Op]any {
	msg := &a2a.SendMessageRequest{
		Tenant:  tenant,
		Message: &a2a.Message{MessageID: "m1", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart(other)}},
	}
	return map[Op]any{
		SendMessage:          msg,
		SendStreamingMessage: msg,
		GetTask:              &a2a.GetTaskRequest{Tenant: tenant, ID: id, HistoryLength: &n},
		ListTasks: &a2a.ListTasksRequest{
			Tenant: tenant, ContextID: other, Status: a2a.TaskStateWorking, PageSize: &n, PageToken: other,
			HistoryLength: ptr(int32(0)), StatusTimestampAfter: time.UnixMilli(1_700_000_000_123).UTC(), IncludeArtifacts: true,
		},
		CancelTask:                       &a2a.CancelTaskRequest{Tenant: tenant, ID: id, Metadata: a2a.JSON(`{"why":1.0}`)},
		SubscribeToTask:                  &a2a.SubscribeToTaskRequest{Tenant: tenant, ID: id},
		CreateTaskPushNotificationConfig: &a2a.TaskPushNotificationConfig{Tenant: tenant, ID: other, TaskID: id, URL: "https://example.org"},
		GetTaskPushNotificationConfig:    &a2a.GetTaskPushNotificationConfigRequest{Tenant: tenant, TaskID: id, ID: other},
		ListTaskPushNotificationConfigs:  &a2a.ListTaskPushNotificationConfigsRequest{Tenant: tenant, TaskID: id, PageSize: n, PageToken: other},
		DeleteTaskPushNotificationConfig: &a2a.DeleteTaskPushNotificationConfigRequest{Tenant: tenant, TaskID: id, ID: other},
		GetExtendedAgentCard:             &a2a.GetExtendedAgentCardRequest{Tenant: tenant},
	}
}

func checkRoundTrip(t *testing.T, op Op, n int, req any) {
	t.Helper()
	call, err := BuildREST(V10, op, n, req)
	if err != nil {
		t.Fatalf("%v: %v", op, err)
	}
	m, allow, ok := MatchRoute(V10, call.Method, call.Path)
	if !ok || m.Op != op {
		t.Fatalf("%v: %s %s leads to %v, allow %v", op, call.Method, call.Path, m.Op, allow)
	}
	query, err := url.ParseQuery(call.Query)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeREST(m, query, call.Body)
	if err != nil {
		t.Fatalf("%v: %s %s?%s: %v", op, call.Method, call.Path, call.Query, err)
	}
	if c, ok := req.(*a2a.CancelTaskRequest); ok && len(c.Metadata) == 0 {
		c.Metadata = nil
	}
	if d := cmp.Diff(req, unencoded(got)); d != "" {
		t.Errorf("%v: %s %s?%s: %s", op, call.Method, call.Path, call.Query, d)
	}
}

func TestBuildThenMatchIsTheSame(t *testing.T) {
	for _, tenant := range []string{"", "acme", "tasks", "message:send", "extendedAgentCard", "a/b", ".."} {
		for op, req := range samples(tenant, "t/1:cancel", "o&ö=+ ?", 7) {
			for n := range Get(op).Routes[V10] {
				if op == SubscribeToTask || n == 0 {
					checkRoundTrip(t, op, n, req)
				}
			}
		}
	}
}

func TestBuildRESTNeedsIDs(t *testing.T) {
	for op, req := range samples("", "", "", 1) {
		_, err := BuildREST(V10, op, 0, req)
		wantErr := strings.Contains(Get(op).Routes[V10][0].Path, "{")
		if errors.Is(err, a2a.ErrInvalidParams) != wantErr {
			t.Errorf("%v: %v", op, err)
		}
	}
}

// FuzzRESTMatch checks that a path that was built leads back, whatever the ids
// are, and that no path makes the matcher panic.
func FuzzRESTMatch(f *testing.F) {
	f.Add("GET", "/tasks/x:subscribe", "tasks", "x:subscribe", "..")
	f.Add("POST", "/a/b/c:cancel", "message:send", "%2F", "+")
	f.Fuzz(func(t *testing.T, method, path, tenant, id, other string) {
		m, allow, ok := MatchRoute(V10, method, path)
		if ok && (len(allow) > 0 || m.Route == nil || m.Route.Method != method && method != "HEAD") {
			t.Errorf("%s %s: %+v, allow %v", method, path, m, allow)
		}
		if ok {
			_, _ = DecodeREST(m, url.Values{"pageSize": {id}, "status": {other}}, []byte(tenant))
		}
		valid := func(s string) string { return strings.ToValidUTF8(s, "?") }
		if id == "" || other == "" {
			return
		}
		for op, req := range samples(valid(tenant), valid(id), valid(other), 1) {
			checkRoundTrip(t, op, 0, req)
		}
	})
}
