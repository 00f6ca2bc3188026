package dialect

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
)

func decodeREST(t *testing.T, method, target, body string) (any, error) {
	t.Helper()
	path, rawQuery, _ := strings.Cut(target, "?")
	m, allow, ok := MatchRoute(V10, method, path)
	if !ok {
		t.Fatalf("%s %s does not match, allow %v", method, path, allow)
	}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		t.Fatal(err)
	}
	req, err := DecodeREST(m, query, []byte(body))
	return unencoded(req), err
}

// R-240 R-242: parameters of GET requests, camelCase and snake_case.
func TestQueryParameters(t *testing.T) {
	want := &a2a.ListTasksRequest{
		Tenant: "acme", ContextID: "c1", Status: a2a.TaskStateWorking, PageSize: ptr(int32(5)), PageToken: "true",
		HistoryLength: ptr(int32(0)), IncludeArtifacts: true,
	}
	for _, target := range []string{
		"/acme/tasks?contextId=c1&status=TASK_STATE_WORKING&pageSize=5&pageToken=true&historyLength=0&includeArtifacts=true",
		"/tasks?tenant=acme&context_id=c1&status=TASK_STATE_WORKING&page_size=5&page_token=true&history_length=0&include_artifacts=true",
		"/acme/tasks?tenant=acme&contextId=c1&status=TASK_STATE_WORKING&page_size=5&pageToken=true&historyLength=0&includeArtifacts=true&utm=x&id=9",
	} {
		got, err := decodeREST(t, "GET", target, "")
		if err != nil {
			t.Errorf("%s: %v", target, err)
			continue
		}
		if d := cmp.Diff(any(want), got); d != "" {
			t.Errorf("%s: %s", target, d)
		}
	}
}

// R-172 R-242: a plus in a query may stand for itself.
func TestQueryTimestamps(t *testing.T) {
	want := time.Date(2026, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	for _, value := range []string{
		"2026-01-02T03:04:05.6Z", "2026-01-02T05:04:05.6%2B02:00", "2026-01-02T05:04:05.6+02:00",
		"2026-01-02%2005:04:05.600%2B02%3A00", "2026-01-01T22:04:05.6-05:00", "2026-01-02T03:04:05.6",
	} {
		got, err := decodeREST(t, "GET", "/tasks?statusTimestampAfter="+value, "")
		if err != nil || !got.(*a2a.ListTasksRequest).StatusTimestampAfter.Equal(want) {
			t.Errorf("%s: %v %v", value, got, err)
		}
	}
	for _, value := range []string{"", "+", "++++++", "2026-01-02+03:04", "2026-01-02T03:04:05+", "2026-01-02T03:04:05+0200"} {
		if got, err := decodeREST(t, "GET", "/tasks?statusTimestampAfter="+value, ""); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%q: %v %v", value, got, err)
		}
	}
}

func TestRESTInputIsRefusedByField(t *testing.T) {
	for _, tt := range []struct{ method, target, body, field string }{
		{"GET", "/tasks/t1?historyLength=x", "", "historyLength"},
		{"GET", "/tasks/t1?historyLength=", "", "historyLength"},
		{"GET", "/tasks/t1?historyLength=1.5", "", "historyLength"},
		{"GET", "/tasks/t1?historyLength=99999999999", "", "historyLength"},
		{"GET", "/tasks/t1?historyLength=1&historyLength=2", "", "historyLength"},
		{"GET", "/tasks/t1?historyLength=1&history_length=1", "", "historyLength"},
		{"GET", "/tasks?includeArtifacts=yes", "", "includeArtifacts"},
		{"GET", "/tasks?status=SLEEPING", "", "status"},
		{"GET", "/tasks?statusTimestampAfter=yesterday", "", "statusTimestampAfter"},
		{"GET", "/tasks?pageSize=0x10", "", "pageSize"},
		{"GET", "/acme/tasks?tenant=other", "", "tenant"},
		{"POST", "/acme/message:send", `{"tenant":"other"}`, "tenant"},
		{"POST", "/message:send", `[]`, "body"},
		{"POST", "/message:send", ` "x"`, "body"},
		{"POST", "/message:send", `{"message":{"parts":[{"raw":5}]}}`, "message.parts[0].raw"},
		{"POST", "/tasks/t1:cancel", `{"metadata":[]}`, "metadata"},
	} {
		_, err := decodeREST(t, tt.method, tt.target, tt.body)
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != a2a.CodeInvalidParams || len(e.Fields) != 1 || e.Fields[0].Field != tt.field {
			t.Errorf("%s %s %s: %+v", tt.method, tt.target, tt.body, err)
			continue
		}
		if !strings.Contains(e.Message, tt.field) {
			t.Errorf("%q does not name %s", e.Message, tt.field)
		}
	}
}

func TestPathWinsOverBody(t *testing.T) {
	for _, tt := range []struct {
		target, body string
		want         any
	}{
		{"/tasks/t1:cancel", `{"id":"t2","metadata":{"a":1}}`, &a2a.CancelTaskRequest{ID: "t1", Metadata: a2a.JSON(`{"a":1}`)}},
		{"/tasks/t1:cancel", ``, &a2a.CancelTaskRequest{ID: "t1"}},
		{"/acme/tasks/t1:subscribe", `{}`, &a2a.SubscribeToTaskRequest{Tenant: "acme", ID: "t1"}},
		{"/acme/tasks/t1:subscribe", `{"tenant":"acme"}`, &a2a.SubscribeToTaskRequest{Tenant: "acme", ID: "t1"}},
		{"/tasks/t1/pushNotificationConfigs", `{"taskId":"x","id":"c","url":"u"}`, &a2a.TaskPushNotificationConfig{TaskID: "t1", ID: "c", URL: "u"}},
		{"/tasks/t1/pushNotificationConfigs?configId=c", `{"url":"u"}`, &a2a.TaskPushNotificationConfig{TaskID: "t1", ID: "c", URL: "u"}}, // the proto of 1.0.0-rc
	} {
		got, err := decodeREST(t, "POST", tt.target, tt.body)
		if err != nil {
			t.Errorf("%s %s: %v", tt.target, tt.body, err)
			continue
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s %s: %s", tt.target, tt.body, d)
		}
	}
	if _, err := decodeREST(t, "POST", "/message:send", ""); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty send: %v", err)
	}
}

// R-222 and the other ways to get params wrong.
func TestDecodeParams(t *testing.T) {
	for op := SendMessage; op <= GetExtendedAgentCard; op++ {
		if got, err := c10.DecodeRequest(op, nil); err != nil {
			t.Errorf("%v without params: %v", op, err)
		} else if want, _ := c10.DecodeRequest(op, []byte(`{}`)); !reflect.DeepEqual(got, want) {
			t.Errorf("%v without params is %+v, want %+v as with none in them", op, got, want)
		}
		for _, doc := range []string{`[]`, `"x"`, `5`, `true`} {
			_, err := c10.DecodeRequest(op, []byte(doc))
			if !errors.Is(err, a2a.ErrInvalidParams) || !strings.Contains(err.Error(), "params: must be an object") {
				t.Errorf("%v with params %s: %v", op, doc, err)
			}
		}
	}
}

func TestParamsAndResultsSurvive(t *testing.T) {
	for op, req := range samples("acme", "t1", "o", 3) {
		got, err := c10.DecodeRequest(op, c10.AppendRequest(nil, op, req))
		if err != nil {
			t.Errorf("%v: %v", op, err)
			continue
		}
		if d := cmp.Diff(req, unencoded(got)); d != "" {
			t.Errorf("%v: %s", op, d)
		}
	}
	for op := SendMessage; op <= GetExtendedAgentCard; op++ {
		res := NewResult(op)
		doc := c10.AppendResult(nil, op, nil, res)
		if op == DeleteTaskPushNotificationConfig {
			if string(doc) != "null" {
				t.Errorf("the result of a delete is %s", doc)
			}
			for _, sent := range []string{"", "null", "{}", "5"} { // as servers differ
				if got, err := c10.DecodeResult(op, nil, []byte(sent)); got != nil || err != nil {
					t.Errorf("delete answered %q: %v, %v", sent, got, err)
				}
			}
			continue
		}
		for _, bad := range []string{"", "null", "[]", "5", `{"id":5,"name":5,"task":5,"tasks":5,"configs":5,"url":5}`} {
			if _, err := c10.DecodeResult(op, nil, []byte(bad)); !errors.Is(err, a2a.ErrInvalidAgentResponse) {
				t.Errorf("%v answered %q: %v", op, bad, err)
			}
		}
	}
}

// Every method name of the table is detected as its operation, in its dialect.
func TestDetectRPC(t *testing.T) {
	for _, o := range Operations {
		for _, d := range []Dialect{V01, V03, V10} {
			name := o.Methods[d]
			if name == "" {
				continue
			}
			op, got, err := DetectRPC(name, "", false)
			if op != o.Op || err != nil || got != d && got != V0x {
				t.Errorf("%s of %v: %v in %v, %v", name, d, op, got, err)
			}
			if want := o.Methods[V01] == o.Methods[V03] && d < V10; want != (got == V0x) {
				t.Errorf("%s belongs to %v", name, got)
			}
		}
	}
	for name, names := range map[string]string{
		"": "A2A 1.0 has SendMessage", "sendMessage": "A2A 1.0 has SendMessage", "message/sent": "A2A 0.3 has message/send,",
		strings.Repeat("x", 10000): "A2A 1.0 has SendMessage",
	} {
		_, _, err := DetectRPC(name, "", false)
		var e *a2a.Error
		if !errors.As(err, &e) || e.Code != a2a.CodeMethodNotFound || !strings.Contains(e.Message, names) || len(e.Message) > 600 {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

var c10 = v1Codec{}
