package dialect

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
)

func TestErrorRowsAreComplete(t *testing.T) {
	codes, reasons := map[a2a.Code]bool{}, map[string]bool{}
	for _, r := range Errors {
		if codes[r.Code] || reasons[r.Reason] {
			t.Errorf("%v stands twice", r.Code)
		}
		codes[r.Code], reasons[r.Reason] = true, true
		if r.Message == "" || r.HTTP < 400 || r.RPC >= 0 {
			t.Errorf("row %+v is incomplete", r)
		}
	}
	for c := a2a.CodeInternal; c <= a2a.CodeUnavailable; c++ {
		if !codes[c] {
			t.Errorf("%v has no row", c)
		}
	}
}

// R-084 R-085 R-086 R-087 R-165 : what is
// written for a code is read as that code again, on both bindings.
func TestErrorsSurviveTheWire(t *testing.T) {
	for _, row := range Errors {
		sent := &a2a.Error{
			Code:    row.Code,
			Message: "say \"what\" to <do>",
			Meta:    map[string]string{"taskId": "t1"},
			Fields:  []a2a.FieldViolation{{Field: "message.parts[0]", Description: "empty"}},
			Cause:   errors.New("secret"),
		}
		want := &a2a.Error{Code: sent.Code, Message: sent.Message, Meta: sent.Meta, Fields: sent.Fields, Peer: true}

		rpc := AppendRPCError(nil, V11, sent)
		var o struct {
			Code    int
			Message string
			Data    json.RawMessage
		}
		if err := json.Unmarshal(rpc, &o); err != nil {
			t.Fatal(err)
		}
		if o.Code != row.RPC {
			t.Errorf("%v: JSON-RPC code %d", row.Code, o.Code)
		}
		want.PeerCode = strconv.Itoa(row.RPC)
		if d := cmp.Diff(want, ErrorFromRPC(200, o.Code, o.Message, o.Data)); d != "" {
			t.Errorf("%v over JSON-RPC: %s", row.Code, d)
		}

		status := AppendStatus(nil, V11, sent)
		want.PeerCode = strconv.Itoa(row.HTTP)
		if d := cmp.Diff(want, ErrorFromHTTP(row.HTTP, "application/json", status)); d != "" {
			t.Errorf("%v over HTTP: %s", row.Code, d)
		}
		for _, b := range [][]byte{rpc, status} {
			if strings.Contains(string(b), "secret") {
				t.Errorf("%v: the cause went out: %s", row.Code, b)
			}
			if n := strings.Count(string(b), `"@type":"type.googleapis.com/google.rpc.`); n != 2 {
				t.Errorf("%v: %d details in %s", row.Code, n, b)
			}
		}
	}
}

func TestErrorBodies(t *testing.T) {
	e := a2a.Invalid("message.parts", "at least one is needed")
	const details = `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org"},` +
		`{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.parts","description":"at least one is needed"}]}]`
	if got, want := string(AppendRPCError(nil, V11, e)),
		`{"code":-32602,"message":"message.parts: at least one is needed","data":`+details+`}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, want := string(AppendStatus(nil, V11, e)),
		`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"message.parts: at least one is needed","details":`+details+`}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(AppendRPCError(nil, V11, &a2a.Error{Code: a2a.CodeTaskNotFound})); !strings.Contains(got, `"message":"Task not found"`) {
		t.Errorf("no default message in %s", got)
	}
}

func TestErrorFromRPCTolerates(t *testing.T) {
	for _, tt := range []struct {
		name    string
		status  int
		code    int
		message string
		data    string
		want    a2a.Code
		text    string
	}{
		{"code alone", 200, -32001, "Task not found", "", a2a.CodeTaskNotFound, "Task not found"},
		{"no message", 200, -32001, "", "null", a2a.CodeTaskNotFound, "Task not found"},
		{"reason before code", 200, -32603, "x", `[{"@type":"t","reason":"TASK_NOT_FOUND"}]`, a2a.CodeTaskNotFound, "x"},
		{"foreign domain", 200, -32603, "x", `[{"reason":"TASK_NOT_FOUND","domain":"example.org"}]`, a2a.CodeInternal, "x"},
		{"unknown reason", 200, -32002, "x", `[{"reason":"GONE_FISHING"}]`, a2a.CodeTaskNotCancelable, "x"},
		{"data is an object", 200, -32603, "x", `{"reason":"TASK_NOT_FOUND"}`, a2a.CodeTaskNotFound, "x"},
		{"data is text", 200, -32602, "x", `"no field y\nAvailable: z"`, a2a.CodeInvalidParams, "x: no field y"},
		{"data is a stack", 200, -32603, "x", `"at f"`, a2a.CodeInternal, "x"},
		{"data is odd", 200, -32602, "x", `[1,{"reason":5},null]`, a2a.CodeInvalidParams, "x"},
		{"unauthenticated by status", 401, -32000, "", "", a2a.CodeUnauthenticated, "Authentication required"},
		{"rate by status", 429, -32000, "", "", a2a.CodeRateLimited, "Too many requests: try later"},
		{"too large by status", 413, -32600, "", "", a2a.CodeTooLarge, "Request is too large"},
		{"server error", 200, -32000, "busy", "", a2a.CodeInternal, "busy (JSON-RPC code -32000)"},
		{"unknown code", 200, 7, "", "", a2a.CodeInternal, "(JSON-RPC code 7)"},
		{"an error in an error", 200, -32603, "An unknown error occurred.", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}`, a2a.CodeMethodNotFound, "x"},
		{"data like an answer", 200, -32602, "x", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"y"}}`, a2a.CodeInvalidParams, "x"},
		{"data like an error", 200, -32603, "x", `{"error":{"code":-32601,"message":"y"}}`, a2a.CodeInternal, "x"},
		{"a2a-go", 200, -31401, "", "", a2a.CodeUnauthenticated, "Authentication required"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := ErrorFromRPC(tt.status, tt.code, tt.message, []byte(tt.data))
			if e.Code != tt.want || e.Message != tt.text || !e.Peer {
				t.Errorf("got %v %q, peer %v", e.Code, e.Message, e.Peer)
			}
		})
	}
}

// TestErrorsOfPydantic: a2a-python before 1.0 answers what is wrong with a request as
// pydantic has it.
func TestErrorsOfPydantic(t *testing.T) {
	e := ErrorFromRPC(200, -32602, "Invalid parameters", []byte(`[{"type":"missing","loc":["message","parts",0,"text"],"msg":"Field required","input":{"a":1}}]`))
	want := []a2a.FieldViolation{{Field: "message.parts.0.text", Description: "Field required"}}
	if e.Code != a2a.CodeInvalidParams || !slices.Equal(e.Fields, want) {
		t.Errorf("got %v, %+v", e, e.Fields)
	}
}

func TestErrorFromHTTPTolerates(t *testing.T) {
	const js = "application/json"
	for _, tt := range []struct {
		name        string
		status      int
		media, body string
		want        a2a.Code
		text        string
	}{
		{"status name", 404, js, `{"error":{"code":404,"status":"NOT_FOUND","message":"no t1"}}`, a2a.CodeTaskNotFound, "no t1"},
		{"TCK status for a reason", 409, js, `{"error":{"code":409,"details":[{"reason":"TASK_NOT_CANCELABLE"}]}}`, a2a.CodeTaskNotCancelable, "Task cannot be canceled"},
		{"code that is a word", 409, js, `{"error":{"code":"ABORTED","message":"no","details":[{"reason":"TASK_NOT_CANCELABLE"}]}}`, a2a.CodeTaskNotCancelable, "no"},
		{"problem", 404, "application/problem+json", `{"type":"https://a2a-protocol.org/errors/task-not-found","title":"Task Not Found","status":404,"detail":"no t1"}`, a2a.CodeTaskNotFound, "no t1"},
		{"foreign problem", 400, "application/problem+json", `{"type":"about:blank","title":"Bad Request","status":400}`, a2a.CodeInvalidRequest, "Bad Request"},
		{"a2a-js 0.3", 404, js, `{"code":-32001,"message":"no t1"}`, a2a.CodeTaskNotFound, "no t1"},
		{"a2a-python 0.3", 422, js, `{"message":"bad"}`, a2a.CodeInvalidParams, "bad"},
		{"JSON-RPC", 400, js, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}`, a2a.CodeParse, "no JSON"},
		{"text in error", 500, js, `{"error":"boom"}`, a2a.CodeInternal, "boom"},
		{"number in error", 503, js, `{"error":5}`, a2a.CodeUnavailable, "HTTP 503 Service Unavailable"},
		{"not an object", 429, js, `[]`, a2a.CodeRateLimited, "HTTP 429 Too Many Requests"},
		{"text", 403, "text/plain; charset=utf-8", "go away\n", a2a.CodePermissionDenied, "go away"},
		{"page", 502, "text/html", "<html>secret</html>", a2a.CodeUnavailable, "HTTP 502 Bad Gateway"},
		{"404 of a proxy", 404, "text/html", "<html>", a2a.CodeMethodNotFound, "HTTP 404 Not Found"},
		{"empty", 401, "", "", a2a.CodeUnauthenticated, "HTTP 401 Unauthorized"},
		{"odd status", 799, "", "", a2a.CodeInternal, "HTTP 799"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := ErrorFromHTTP(tt.status, tt.media, []byte(tt.body))
			if e.Code != tt.want || e.Message != tt.text || !e.Peer {
				t.Errorf("got %v %q, peer %v", e.Code, e.Message, e.Peer)
			}
		})
	}
}

func TestForeignErrorsAreBounded(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	if e := ErrorFromHTTP(500, "text/plain", []byte(long)); len(e.Message) > maxErrorDetail+3 || !utf8.ValidString(e.Message) {
		t.Errorf("%d bytes of text were kept", len(e.Message))
	}
	item := `{"reason":"INVALID_PARAMS","metadata":{"k":"` + long + `"},"fieldViolations":[` +
		strings.Repeat(`{"field":"f","description":"`+long[:1000]+`"},`, 1000) + `{}]}`
	e := ErrorFromRPC(200, -32602, long, []byte("["+item+"]"))
	if len(e.Message) > maxErrorText+3 || len(e.Fields) > maxErrorItems || len(e.Meta["k"]) > maxErrorDetail+3 {
		t.Errorf("kept: message %d, fields %d, metadata %d", len(e.Message), len(e.Fields), len(e.Meta["k"]))
	}
}

func FuzzForeignError(f *testing.F) {
	f.Add(404, "application/json", []byte(`{"error":{"code":404,"status":"NOT_FOUND","details":[{"reason":"TASK_NOT_FOUND"}]}}`))
	f.Add(500, "text/plain", []byte("\xff"))
	f.Add(400, "application/problem+json", []byte(`{"type":"/","status":"x","error":[]}`))
	f.Fuzz(func(t *testing.T, status int, media string, body []byte) {
		for _, e := range []*a2a.Error{ErrorFromHTTP(status, media, body), ErrorFromRPC(status, -status, media, body)} {
			if e.Message == "" || !e.Peer || !utf8.ValidString(e.Message) {
				t.Errorf("error %+v", e)
			}
		}
	})
}

// R-066 R-113 R-115 R-117 R-118: what a version does to a name.
func TestVersions(t *testing.T) {
	const bad = dialects
	for _, tt := range []struct {
		method, version string
		lenient, strict Dialect
	}{
		{"GetTask", "1.0", V10, V10},
		{"GetTask", " 1.0 ", V10, V10},
		{"GetTask", "1.0.17", V10, V10},
		{"GetTask", "1.1", V11, V11},
		{"GetTask", "", V10, bad},
		{"GetTask", "0.3", V10, bad},
		{"tasks/get", "", V0x, V0x},
		{"tasks/get", "0.3", V03, V03},
		{"tasks/get", "0.2.5", V03, V03},
		{"tasks/get", "0.1", V01, V01},
		{"tasks/get", "1.0", V0x, bad},
		{"tasks/send", "", V01, V01},
		{"tasks/send", "0.3", V01, V01},
		{"message/send", "", V03, V03},
		{"message/send", "1.0", V03, bad},
		{"message/send", "0.1", V03, bad},
		{"message/send", "99.0", bad, bad},
		{"message.send", "", V03, V03},
		{"task/get", "", V01, V01},
		{"ListTaskPushNotificationConfig", "", V10, bad},
	} {
		for _, strict := range []bool{false, true} {
			want := tt.lenient
			if strict {
				want = tt.strict
			}
			_, got, err := DetectRPC(tt.method, tt.version, strict)
			if err != nil {
				got = bad
				var e *a2a.Error
				if !errors.As(err, &e) || e.Code != a2a.CodeVersionNotSupported || e.Meta["supportedVersions"] != "1.0,0.3,0.2,0.1,1.1" {
					t.Errorf("%s with version %q: %v", tt.method, tt.version, err)
				}
			}
			if got != want {
				t.Errorf("%s with version %q (strict: %v) is %v, want %v", tt.method, tt.version, strict, got, want)
			}
		}
	}
	for _, v := range []string{"1", "10.0", "1.00", "1.0.", "1.0.x", "1.0-rc", "v1.0", "99.0", "1.0,1.0", "0.4"} {
		if err := CheckVersion(v); !errors.Is(err, a2a.ErrVersionNotSupported) {
			t.Errorf("%q: %v", v, err)
		}
	}
}

// Versions before 1.0 say as much as their readers can take, and what they say
// is read as the code it was, or the nearest that the version has.
func TestErrorsOfOlderVersions(t *testing.T) {
	for _, d := range []Dialect{V01, V03, V0x} {
		for _, row := range Errors {
			want := errorRowIn(d, row.Code).Code
			sent := &a2a.Error{Code: row.Code, Message: "what to do", Cause: errors.New("secret")}
			if row.Code == a2a.CodeInvalidParams {
				sent.Fields = []a2a.FieldViolation{{Field: "message", Description: "is required"}}
			}
			raw := AppendRPCError(nil, d, sent)
			var o struct {
				Code    int
				Message string
				Data    json.RawMessage
			}
			if err := json.Unmarshal(raw, &o); err != nil || strings.Contains(string(raw), "secret") {
				t.Fatalf("%v: %s", err, raw)
			}
			got := ErrorFromRPC(200, o.Code, o.Message, o.Data)
			if got.Code != want || got.Message != sent.Message {
				t.Errorf("%s %v over JSON-RPC is read as %v: %s", d, row.Code, got.Code, raw)
			}
			if d == V01 && len(got.Fields) != len(sent.Fields) {
				t.Errorf("%s: %s", d, raw)
			}
			if len(o.Data) > 0 && o.Data[0] != '{' {
				t.Errorf("%s: data is not an object: %s", d, raw)
			}
			if d != V03 {
				continue
			}
			status := AppendStatus(nil, d, sent)
			if got := ErrorFromHTTP(HTTPStatus(d, row.Code), "application/json", status); got.Code != want || got.Message != sent.Message || len(got.Fields) != len(sent.Fields) {
				t.Errorf("%s %v over HTTP is read as %v: %s", d, row.Code, got.Code, status)
			}
		}
	}
}

func TestErrorBodiesOfOlderVersions(t *testing.T) {
	const info = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"%","domain":"a2a-protocol.org"}`
	notFound := &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "no t1"}
	invalid := a2a.Invalid("id", "is required")
	busy := &a2a.Error{Code: a2a.CodeUnavailable, Message: "busy", Meta: map[string]string{"k": "v"}}
	for _, tt := range []struct {
		d    Dialect
		e    *a2a.Error
		want string
	}{
		{V01, notFound, `{"code":-32001,"message":"no t1"}`},
		{V03, notFound, `{"code":-32001,"message":"no t1"}`},
		{V03, invalid, `{"code":-32602,"message":"id: is required"}`},
		{V01, invalid, `{"code":-32602,"message":"id: is required","data":` + strings.TrimSuffix(strings.Replace(info, "%", "INVALID_PARAMS", 1), "}") + `,"fieldViolations":[{"field":"id","description":"is required"}]}}`},
		{V03, busy, `{"code":-32000,"message":"busy","data":` + strings.TrimSuffix(strings.Replace(info, "%", "UNAVAILABLE", 1), "}") + `,"metadata":{"k":"v"}}}`},
		{V03, &a2a.Error{Code: a2a.CodeVersionNotSupported, Message: "x"}, `{"code":-32004,"message":"x"}`},
		{V01, &a2a.Error{Code: a2a.CodeInvalidAgentResponse, Message: "x"}, `{"code":-32603,"message":"x"}`},
	} {
		if got := string(AppendRPCError(nil, tt.d, tt.e)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.d, got, tt.want)
		}
	}
	// It has all that readers of 0.3 look for: a JSON-RPC code, an object error, and in
	// that a member with the error class's name.
	want := `{"code":-32001,"message":"no t1","error":{"code":404,"status":"NOT_FOUND","message":"no t1","details":[` +
		strings.Replace(info, "%", "TASK_NOT_FOUND", 1) + `],"TaskNotFoundError":true}}`
	if got := string(AppendStatus(nil, V03, notFound)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	for c, want := range map[a2a.Code]int{
		a2a.CodeTaskNotFound: 404, a2a.CodeTaskNotCancelable: 409, a2a.CodePushNotificationNotSupported: 501, a2a.CodeUnsupportedOperation: 501,
		a2a.CodeVersionNotSupported: 501, a2a.CodeContentTypeNotSupported: 415, a2a.CodeExtendedAgentCardNotConfigured: 404, a2a.CodeInvalidParams: 400,
		a2a.CodeInvalidAgentResponse: 500, a2a.CodeInternal: 500, a2a.CodeMethodNotFound: 404,
	} {
		if got := HTTPStatus(V03, c); got != want {
			t.Errorf("%v is HTTP %d in 0.3, want %d", c, got, want)
		}
		if got := HTTPStatus(V10, c); got != ErrorRowOf(c).HTTP {
			t.Errorf("%v is HTTP %d in 1.0", c, got)
		}
	}
}

// The HTTP status of a gateway in front of a server counts, whatever its body is, and
// the code is kept as received.
func TestGatesAreUnderstood(t *testing.T) {
	for _, tt := range []struct {
		status, code int
		want         a2a.Code
		said         string
	}{
		{401, -32603, a2a.CodeUnauthenticated, "-32603"},
		{403, -32603, a2a.CodePermissionDenied, "-32603"},
		{429, -32603, a2a.CodeRateLimited, "-32603"},
		{503, -32603, a2a.CodeUnavailable, "-32603"},
		{500, -32603, a2a.CodeInternal, "-32603"},
		{401, -32602, a2a.CodeInvalidParams, "-32602"},
		{200, -32077, a2a.CodeInternal, "-32077"},
	} {
		e := ErrorFromRPC(tt.status, tt.code, "no", nil)
		if e.Code != tt.want || e.PeerCode != tt.said || !e.Peer {
			t.Errorf("HTTP %d with %d: %v, said %s", tt.status, tt.code, e.Code, e.PeerCode)
		}
	}
	for body, message := range map[string]string{
		`{"error":"unauthorized"}`: "unauthorized",
		`{"error":"invalid_token","error_description":"The token expired"}`: "invalid_token",
		`{"message":"No API key found in request"}`:                         "No API key found in request",
		`{"error":{"code":403,"message":"Forbidden by policy"}}`:            "Forbidden by policy",
	} {
		for status, want := range map[int]a2a.Code{
			401: a2a.CodeUnauthenticated, 403: a2a.CodePermissionDenied, 429: a2a.CodeRateLimited, 503: a2a.CodeUnavailable,
		} {
			if e := ErrorFromHTTP(status, "application/json", []byte(body)); e.Code != want || e.Message != message || e.PeerCode != strconv.Itoa(status) {
				t.Errorf("HTTP %d with %s: %v, %q, said %s", status, body, e.Code, e.Message, e.PeerCode)
			}
		}
	}
}
