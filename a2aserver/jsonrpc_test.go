package a2aserver

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// R-213 R-214 R-218: every way to get a request wrong, with the
// whole answer.
func TestRPCStrictness(t *testing.T) {
	const methods = "; A2A 1.0 has SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, " +
		"CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs, " +
		"DeleteTaskPushNotificationConfig, GetExtendedAgentCard"
	const parse, request, params = "-32700", "-32600", "-32602"
	h := New(&fake{}, testCard(), &Options{MaxBody: 1000})
	for _, tt := range []struct {
		name, body string
		header     string
		status     int
		want       string
	}{
		{"R-227 empty body", ``, "", 200, rpcError("null", parse, "the body is empty: send a JSON object", "PARSE_ERROR")},
		{"R-227 not JSON", `{"jsonrpc":`, "", 200, rpcError("null", parse, "the body is not valid JSON: unexpected end of JSON input at byte 11", "PARSE_ERROR")},
		{"R-278 not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{\"id\":\"\xff\"}}", "", 200, rpcError("null", parse, "the body is not valid UTF-8", "PARSE_ERROR")},
		{"R-218 batch", `[` + getTask("1") + `]`, "", 200, rpcError("null", request, "batches are not supported: send one request object per POST", "INVALID_REQUEST")},
		{"R-218 no object", `"GetTask"`, "", 200, rpcError("null", request, "the request must be a JSON object, not a string", "INVALID_REQUEST")},
		{"R-218 no version", `{"id":1,"method":"GetTask"}`, "", 200, rpcError("1", request, `jsonrpc is missing: it must be "2.0"`, "INVALID_REQUEST")},
		{"R-218 wrong version", `{"jsonrpc":"1.0","id":"a","method":"GetTask"}`, "", 200, rpcError(`"a"`, request, `jsonrpc must be "2.0"`, "INVALID_REQUEST")},
		{"R-218 no method", `{"jsonrpc":"2.0","id":1}`, "", 200, rpcError("1", request, `method is missing`, "INVALID_REQUEST")},
		{"R-218 method is no string", `{"jsonrpc":"2.0","id":1,"method":["GetTask"]}`, "", 200, rpcError("1", request, `method must be a string, not an array`, "INVALID_REQUEST")},
		{"R-218 object id", `{"jsonrpc":"2.0","id":{"a":1},"method":"GetTask"}`, "", 200, rpcError("null", request, "id must be a string, a number or null, not an object", "INVALID_REQUEST")},
		{"R-218 array id", `{"jsonrpc":"2.0","id":[],"method":"GetTask"}`, "", 200, rpcError("null", request, "id must be a string, a number or null, not an array", "INVALID_REQUEST")},
		{"R-218 boolean id", `{"jsonrpc":"2.0","id":false,"method":"GetTask"}`, "", 200, rpcError("null", request, "id must be a string, a number or null, not a boolean", "INVALID_REQUEST")},
		{"R-218 notification", `{"jsonrpc":"2.0","method":"GetTask","params":{"id":"t1"}}`, "", 200, rpcError("null", request, "id is missing: notifications are not supported, every request is answered", "INVALID_REQUEST")},
		{"R-227 unknown method", `{"jsonrpc":"2.0","id":1,"method":"message/sent","params":{}}`, "", 200, rpcError("1", "-32601", `method "message/sent" is not known`+methods, "METHOD_NOT_FOUND")},
		{"R-214 names have a case", `{"jsonrpc":"2.0","id":1,"method":"getTask","params":{}}`, "", 200, rpcError("1", "-32601", `method "getTask" is not known`+methods, "METHOD_NOT_FOUND")},
		{"R-227 params array", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["t1"]}`, "", 200, fieldError("1", "params", "must be an object")},
		{"R-227 params scalar", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":"t1"}`, "", 200, fieldError("1", "params", "must be an object")},
		{"R-222 null params where none are needed", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard","params":[]}`, "", 200, fieldError("1", "params", "must be an object")},
		{"R-227 wrong type", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":5}}`, "", 200, fieldError("1", "id", "expected a string, got a number")},
		{"R-227 deep field", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"parts":[{"text":"a"},{"text":null,"url":7}]}}}`, "", 200,
			fieldError("1", "message.parts[1].url", "expected a string, got a number")},

		{"R-271 too large", getTask(`"` + strings.Repeat("x", 1000) + `"`), "", 413, rpcError("null", request, "the body is larger than 1000 bytes; send large files by URL", "REQUEST_TOO_LARGE")},
		{"R-213 text", getTask("1"), "text/plain", 415, rpcError("null", "-32005", "the body must be application/json or application/a2a+json", "UNSUPPORTED_MEDIA_TYPE")},
		{"R-213 form", getTask("1"), "application/x-www-form-urlencoded", 415, rpcError("null", "-32005", "the body must be application/json or application/a2a+json", "UNSUPPORTED_MEDIA_TYPE")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			header := []string{"A2A-Version: 1.0"}
			if tt.header != "" {
				header = append(header, "Content-Type: "+tt.header)
			}
			w := do(h, "POST", "/", tt.body, header...)
			if w.Code != tt.status {
				t.Errorf("status %d, want %d", w.Code, tt.status)
			}
			if got := w.Body.String(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if ct := w.Header().Get("Content-Type"); ct != "application/json" {
				t.Errorf("type %q", ct)
			}
		})
	}
}

// fieldError is the InvalidParams answer about one field.
func fieldError(id, field, text string) string {
	f, _ := json.Marshal(field)
	d, _ := json.Marshal(text)
	whole := rpcError(id, "-32602", field+": "+text, "INVALID_PARAMS")
	return strings.TrimSuffix(whole, "]}}") +
		`,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":` + string(f) + `,"description":` + string(d) + `}]}]}}`
}

func TestRPCIDsComeBackAsSent(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for _, id := range []string{`1`, `0`, `-5`, `1.0`, `1.5`, `1e3`, `123456789012345678901234567890`, `""`, `"a"`, `"\u0041\/\n"`, `"é"`, `null`} {
		w := do(h, "POST", "/", getTask(id))
		if want := `{"jsonrpc":"2.0","id":` + id + `,"result":` + taskJSON + `}`; w.Body.String() != want {
			t.Errorf("id %s: %s", id, w.Body)
		}
		w = do(h, "POST", "/", strings.Replace(getTask(id), "GetTask", "Nothing", 1))
		if !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32601,`) {
			t.Errorf("id %s: %s", id, w.Body)
		}
	}
}

// types and charsets that are JSON all the same.
func TestRPCMediaTypes(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for _, header := range [][]string{
		nil,
		{"Content-Type: application/json"},
		{"Content-Type: application/json; charset=utf-8"},
		{"Content-Type: Application/JSON;charset=ISO-8859-1"},
		{"Content-Type: application/a2a+json"},
		{"Content-Type: application/json; oops"},
		{"Content-Encoding: identity"},
	} {
		w := do(h, "POST", "/", getTask("1"), header...)
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), `"result"`) {
			t.Errorf("%v: %d %s", header, w.Code, w.Body)
		}
	}
	for _, header := range []string{"Content-Type: application/jsonx", "Content-Type: ;", "Content-Encoding: gzip"} {
		if w := do(h, "POST", "/", getTask("1"), header); w.Code != 415 {
			t.Errorf("%s: %d", header, w.Code)
		}
	}
}

//
func TestExtendedCardNeedsNoParams(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	for _, params := range []string{``, `,"params":null`, `,"params":{}`, `,"params":{"tenant":"acme"}`} {
		w := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"`+params+`}`)
		if !strings.Contains(w.Body.String(), `"name":"Fake"`) {
			t.Errorf("%q: %s", params, w.Body)
		}
		if cc := w.Header().Get("Cache-Control"); cc != "no-store" {
			t.Errorf("Cache-Control %q", cc)
		}
	}
}

func TestRPCDeleteAnswersNull(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	w := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"method":"DeleteTaskPushNotificationConfig","params":{"taskId":"t","id":"c"}}`)
	if w.Body.String() != `{"jsonrpc":"2.0","id":1,"result":null}` {
		t.Error(w.Body)
	}
}

// unknown members do no harm.
func TestUnknownMembersAreIgnored(t *testing.T) {
	h := New(&fake{}, testCard(), nil)
	w := do(h, "POST", "/", `{"jsonrpc":"2.0","id":1,"x":{"id":9},"method":"GetTask","params":{"id":"t1","y":[{}]}}`)
	if w.Body.String() != `{"jsonrpc":"2.0","id":1,"result":`+taskJSON+`}` {
		t.Error(w.Body)
	}
}

// DIALECTS 8.4: to official clients any other status means that the server is broken.
func TestRPCErrorsHaveStatus200(t *testing.T) {
	statuses := map[a2a.Code]int{
		a2a.CodeUnauthenticated: 401, a2a.CodePermissionDenied: 403, a2a.CodeTooLarge: 413,
		a2a.CodeUnsupportedMedia: 415, a2a.CodeRateLimited: 429,
	}
	for c := a2a.CodeInternal; c <= a2a.CodeUnavailable; c++ {
		h := New(&fake{get: func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return nil, &a2a.Error{Code: c} }}, testCard(), nil)
		want := statuses[c]
		if want == 0 {
			want = 200
		}
		if w := do(h, "POST", "/", getTask("1")); w.Code != want {
			t.Errorf("%v: %d, want %d", c, w.Code, want)
		}
	}
}
