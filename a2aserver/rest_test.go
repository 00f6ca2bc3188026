package a2aserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/dialect"
)

// restErrorBody is the answer with one error without fields.
func restErrorBody(code, status, message, reason string) string {
	text, _ := json.Marshal(message)
	return `{"error":{"code":` + code + `,"status":"` + status + `","message":` + string(text) +
		`,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"` + reason + `","domain":"a2a-protocol.org"}]}}`
}

// wrong requests, with the whole answer.
func TestRESTStrictness(t *testing.T) {
	h := New(&fake{}, testCard(), &Options{MaxBody: 100})
	const nothing = "there is nothing at this path; the card at /.well-known/agent-card.json names the agent's addresses"
	for _, tt := range []struct {
		name, method, target, body, media string
		status                            int
		allow, want                       string
	}{
		{"no route", "GET", "/nothing", "", "", 404, "", restErrorBody("404", "NOT_FOUND", nothing, "METHOD_NOT_FOUND")},
		{"no route, posted", "POST", "/message:send:now", "{}", "", 404, "", restErrorBody("404", "NOT_FOUND", nothing, "METHOD_NOT_FOUND")},
		{"another verb", "GET", "/message:send", "", "", 405, "POST", restErrorBody("405", "UNIMPLEMENTED", "GET is not allowed here: use POST", "METHOD_NOT_ALLOWED")},
		{"yet another verb", "PATCH", "/tasks/t1:subscribe", "", "", 405, "POST, GET", restErrorBody("405", "UNIMPLEMENTED", "PATCH is not allowed here: use POST, GET", "METHOD_NOT_ALLOWED")},
		{"no body", "POST", "/message:send", "", "", 400, "", restErrorBody("400", "INVALID_ARGUMENT", "the body is empty: send a JSON object", "PARSE_ERROR")},
		{"not JSON", "POST", "/message:send", "{", "", 400, "", restErrorBody("400", "INVALID_ARGUMENT", "the body is not valid JSON: unexpected end of JSON input at byte 1", "PARSE_ERROR")},
		{"not UTF-8", "POST", "/tasks/t1:cancel", "\"\xff\"", "", 400, "", restErrorBody("400", "INVALID_ARGUMENT", "the body is not valid UTF-8", "PARSE_ERROR")},
		{"R-271 too large", "POST", "/message:send", strings.Repeat(" ", 101), "", 413, "", restErrorBody("413", "OUT_OF_RANGE", "the body is larger than 100 bytes; send large files by URL", "REQUEST_TOO_LARGE")},
		{"text", "POST", "/message:send", "{}", "text/plain", 415, "", restErrorBody("415", "INVALID_ARGUMENT", "the body must be application/json or application/a2a+json", "UNSUPPORTED_MEDIA_TYPE")},
		{"bad query", "GET", "/tasks/t1?historyLength=%zz", "", "", 400, "", restErrorBody("400", "INVALID_ARGUMENT", "the query is not percent-encoded as it should be", "INVALID_PARAMS")},
		{"R-242 bad parameter", "GET", "/tasks/t1?historyLength=ten", "", "", 400, "",
			`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"historyLength: must be a whole number","details":[` +
				`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org"},` +
				`{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"historyLength","description":"must be a whole number"}]}]}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var header []string
			if tt.media != "" {
				header = []string{"Content-Type: " + tt.media}
			}
			w := do(h, tt.method, tt.target, tt.body, header...)
			if w.Code != tt.status || w.Header().Get("Allow") != tt.allow {
				t.Errorf("status %d, allow %q", w.Code, w.Header().Get("Allow"))
			}
			if got := w.Body.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// HEAD is answered as GET, without the body (RFC 9110 §9.3.2).
func TestRESTHead(t *testing.T) {
	srv := httptest.NewServer(New(&fake{}, testCard(), nil))
	defer srv.Close()
	for _, path := range []string{"/tasks/t1", "/tasks", "/tasks/t1?historyLength=ten", "/nothing"} {
		var last *http.Response
		for _, method := range []string{"GET", "HEAD"} {
			req, _ := http.NewRequest(method, srv.URL+path, nil)
			req.Header.Set("A2A-Version", "1.0")
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || (len(body) == 0) != (method == "HEAD") {
				t.Errorf("%s %s: %q, %v", method, path, body, err)
			}
			resp.Header.Del("Date")
			if last != nil && (resp.StatusCode != last.StatusCode || !reflect.DeepEqual(resp.Header, last.Header)) {
				t.Errorf("HEAD %s: %d %v, but GET %d %v", path, resp.StatusCode, resp.Header, last.StatusCode, last.Header)
			}
			last = resp
		}
	}
}

// The limit on a body also holds if its length is not announced.
func TestChunkedBodyIsLimited(t *testing.T) {
	h := New(&fake{}, testCard(), &Options{MaxBody: 100})
	r := httptest.NewRequest("POST", "/message:send", strings.NewReader(strings.Repeat(" ", 101)))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 413 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// R-234 and DIALECTS 1.6, 8.4: the media type of answers.
func TestRESTMediaType(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for _, tt := range []struct {
		header []string
		want   string
	}{
		{nil, mediaJSON},
		{[]string{"Accept: */*"}, mediaJSON},
		{[]string{"Accept: application/json"}, mediaJSON},
		{[]string{"Accept: application/a2a+json"}, mediaA2A},
		{[]string{"Accept: application/a2a+json, application/json"}, mediaA2A}, // a2a-js
		{[]string{"Accept: application/json, application/a2a+json"}, mediaJSON},
		{[]string{"Accept: application/json;q=0.5", "Accept: application/a2a+json;q=0.9"}, mediaA2A},
		{[]string{"Accept: application/a2a+json;q=0"}, mediaJSON},
		{[]string{"Accept: ;;,"}, mediaJSON},
		{[]string{"Content-Type: application/a2a+json"}, mediaA2A},
		{[]string{"Content-Type: application/a2a+json; charset=utf-8", "Accept: application/json"}, mediaA2A},
	} {
		for target, status := range map[string]int{"/tasks/t1": 200, "/tasks": 400} { // results and errors alike
			w := do(h, "GET", target, "", tt.header...)
			if w.Code != status || w.Header().Get("Content-Type") != tt.want {
				t.Errorf("%v %s: %d %s", tt.header, target, w.Code, w.Header().Get("Content-Type"))
			}
		}
	}
}

// DIALECTS 8.4: 200 everywhere, and a body that is JSON.
func TestRESTDeleteAnswersAnEmptyObject(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	if w := do(h, "DELETE", "/tasks/t1/pushNotificationConfigs/c1", ""); w.Code != 200 || w.Body.String() != "{}" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// R-159 R-160 R-161: each operation exists on both bindings and ends in the
// same method of the service with the same request.
func TestBindingsAreEqual(t *testing.T) {
	calls := map[string]struct{ method, target, body, params string }{
		"SendMessage":                      {"POST", "/acme/message:send", `{"message":{"messageId":"m"}}`, `{"tenant":"acme","message":{"messageId":"m"}}`},
		"SendStreamingMessage":             {"POST", "/acme/message:stream", `{"message":{"messageId":"m"}}`, `{"tenant":"acme","message":{"messageId":"m"}}`},
		"GetTask":                          {"GET", "/acme/tasks/t1?historyLength=3", ``, `{"tenant":"acme","id":"t1","historyLength":3}`},
		"ListTasks":                        {"GET", "/acme/tasks?status=TASK_STATE_WORKING&pageSize=2", ``, `{"tenant":"acme","status":"TASK_STATE_WORKING","pageSize":2}`},
		"CancelTask":                       {"POST", "/acme/tasks/t1:cancel", `{"metadata":{"a":1}}`, `{"tenant":"acme","id":"t1","metadata":{"a":1}}`},
		"SubscribeToTask":                  {"POST", "/acme/tasks/t1:subscribe", ``, `{"tenant":"acme","id":"t1"}`},
		"CreateTaskPushNotificationConfig": {"POST", "/acme/tasks/t1/pushNotificationConfigs", `{"url":"u"}`, `{"tenant":"acme","taskId":"t1","url":"u"}`},
		"GetTaskPushNotificationConfig":    {"GET", "/acme/tasks/t1/pushNotificationConfigs/c1", ``, `{"tenant":"acme","taskId":"t1","id":"c1"}`},
		"ListTaskPushNotificationConfigs":  {"GET", "/acme/tasks/t1/pushNotificationConfigs?pageToken=x", ``, `{"tenant":"acme","taskId":"t1","pageToken":"x"}`},
		"DeleteTaskPushNotificationConfig": {"DELETE", "/acme/tasks/t1/pushNotificationConfigs/c1", ``, `{"tenant":"acme","taskId":"t1","id":"c1"}`},
		"GetExtendedAgentCard":             {"GET", "/acme/extendedAgentCard", ``, `{"tenant":"acme"}`},
	}
	rec := &recorder{}
	h := New(rec, testCard(), nil)
	for _, o := range dialect.Operations {
		c, ok := calls[o.Op.String()]
		if !ok {
			t.Errorf("%s is not tested", o.Op.String())
			continue
		}
		rec.got = nil
		rest := do(h, c.method, c.target, c.body)
		rpc := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"`+o.Op.String()+`","params":`+c.params+`}`)
		want := o.Op.String() + " " + string(v10.AppendRequest(nil, o.Op, mustDecode(t, o.Op, c.params)))
		if !slices.Equal(rec.got, []string{want, want}) {
			t.Errorf("the service saw %q, want twice %q", rec.got, want)
		}
		if rest.Code != 404 || !strings.Contains(rest.Body.String(), "TASK_NOT_FOUND") || !strings.Contains(rpc.Body.String(), "-32001") {
			t.Errorf("%s: %d %s, %s", o.Op.String(), rest.Code, rest.Body, rpc.Body)
		}
	}
}

var v10 = dialect.CodecOf(dialect.V10, a2a.BindingJSONRPC)

func mustDecode(t *testing.T, op dialect.Op, params string) any {
	t.Helper()
	req, err := v10.DecodeRequest(op, []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// recorder is a service that notes what it is asked and knows no task.
type recorder struct {
	a2a.Unimplemented
	got []string
}

func (r *recorder) note(name string, req interface{ AppendJSON([]byte) []byte }) error {
	r.got = append(r.got, name+" "+string(req.AppendJSON(nil)))
	return a2a.ErrTaskNotFound
}

func (r *recorder) SendMessage(_ context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	return nil, r.note("SendMessage", req)
}

func (r *recorder) SendStreamingMessage(_ context.Context, req *a2a.SendMessageRequest) elements {
	return yields(r.note("SendStreamingMessage", req))
}

func (r *recorder) GetTask(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return nil, r.note("GetTask", req)
}

func (r *recorder) ListTasks(_ context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	return nil, r.note("ListTasks", req)
}

func (r *recorder) CancelTask(_ context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	return nil, r.note("CancelTask", req)
}

func (r *recorder) SubscribeToTask(_ context.Context, req *a2a.SubscribeToTaskRequest) elements {
	return yields(r.note("SubscribeToTask", req))
}

func (r *recorder) CreateTaskPushNotificationConfig(_ context.Context, req *a2a.TaskPushNotificationConfig) (*a2a.TaskPushNotificationConfig, error) {
	return nil, r.note("CreateTaskPushNotificationConfig", req)
}

func (r *recorder) GetTaskPushNotificationConfig(_ context.Context, req *a2a.GetTaskPushNotificationConfigRequest) (*a2a.TaskPushNotificationConfig, error) {
	return nil, r.note("GetTaskPushNotificationConfig", req)
}

func (r *recorder) ListTaskPushNotificationConfigs(_ context.Context, req *a2a.ListTaskPushNotificationConfigsRequest) (*a2a.ListTaskPushNotificationConfigsResponse, error) {
	return nil, r.note("ListTaskPushNotificationConfigs", req)
}

func (r *recorder) DeleteTaskPushNotificationConfig(_ context.Context, req *a2a.DeleteTaskPushNotificationConfigRequest) error {
	return r.note("DeleteTaskPushNotificationConfig", req)
}

func (r *recorder) GetExtendedAgentCard(_ context.Context, req *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, r.note("GetExtendedAgentCard", req)
}
