package dialect

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/a2a"
	v03 "github.com/parley-a2a/parley/internal/pb/v03"
)

// A part with more than one content has the one that its type or kind names, and none
// if these do not help.
func TestPartsWithMoreThanOneContent(t *testing.T) {
	for part, want := range map[string]string{
		`{"kind":"text","text":"a","data":{}}`:                            `{"text":"a"}`,
		`{"type":"data","text":"a","data":{"b":1}}`:                       `{"data":{"b":1}}`,
		`{"kind":"file","text":"a","file":{"uri":"u"}}`:                   `{"url":"u"}`,
		`{"text":"a","data":{}}`:                                          ``,
		`{"kind":"other","text":"a","data":{}}`:                           ``,
		`{"kind":"data","text":"a"}`:                                      `{"text":"a"}`,
		`{"kind":"text"}`:                                                 ``,
		`{"raw":"AQI=","mediaType":"a/b","filename":"f"}`:                 `{"raw":"AQI=","filename":"f","mediaType":"a/b"}`,
		`{"url":"https://x","mediaType":"a/b"}`:                           `{"url":"https://x","mediaType":"a/b"}`,
		`{"file":{"bytes":"","uri":"u"}}`:                                 `{"url":"u"}`,
		`{"file":{"bytes":""}}`:                                           `{"raw":""}`,
		`{"file":{}}`:                                                     ``,
		`{"data":{"value":1,"b":2},"metadata":{"data_part_compat":true}}`: `{"data":{"value":1,"b":2},"metadata":{"data_part_compat":true}}`,
	} {
		v, err := v03Codec{}.DecodeRequest(SendMessage, []byte(`{"message":{"parts":[`+part+`]}}`))
		got := ""
		if err == nil {
			got = string(v.(*a2a.SendMessageRequest).Message.Parts[0].AppendJSON(nil))
		} else if !strings.Contains(err.Error(), "message.parts[0]") {
			t.Errorf("%s: %v", part, err)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", part, got, want)
		}
	}
}

// An object without a kind is recognized by its members; a message may name its task.
func TestV03AnswersWithoutKind(t *testing.T) {
	for doc, want := range map[string]string{
		`{"messageId":"m","taskId":"t","role":"agent","parts":[{"text":"a"}]}`: "message",
		`{"taskId":"t","parts":[{"text":"a"}]}`:                                "message",
		`{"taskId":"t","status":{"state":"working"}}`:                          "status",
		`{"status":{"state":"working"},"final":true}`:                          "status",
		`{"id":"t","status":{"state":"working"}}`:                              "task",
		`{"taskId":"t","artifact":{"artifactId":"a","parts":[]}}`:              "artifact",
		`{"taskId":"t"}`: "nothing",
	} {
		els, err := v03Codec{}.DecodeEvent(SendStreamingMessage, nil, []byte(doc))
		if err != nil {
			t.Errorf("%s: %v", doc, err)
			continue
		}
		got := "nothing"
		if len(els) == 1 {
			switch el := els[0]; {
			case el.Message != nil:
				got = "message"
			case el.StatusUpdate != nil:
				got = "status"
			case el.ArtifactUpdate != nil:
				got = "artifact"
			case el.Task != nil:
				got = "task"
			}
		}
		if got != want {
			t.Errorf("%s is read as %s", doc, got)
		}
	}
}

// Ids may hold what separates them in a resource name.
func TestWebhookNames(t *testing.T) {
	for _, tt := range []struct{ name, id, task, webhook string }{
		{"tasks/t/pushNotificationConfigs/p", "", "t", "p"},
		{"tasks/t/pushNotificationConfigs/p", "p", "t", "p"},
		{"tasks/t/pushNotificationConfigs/a/pushNotificationConfigs/b", "", "t/pushNotificationConfigs/a", "b"},
		{"tasks/t/pushNotificationConfigs/a/pushNotificationConfigs/b", "a/pushNotificationConfigs/b", "t", "a/pushNotificationConfigs/b"},
		{"tasks/t/pushNotificationConfigs/p", "other", "t", "other"},
		{"tasks/t/pushNotificationConfigs", "", "t", ""},
		{"tasks/t", "p", "t", "p"},
		{"t", "", "t", ""},
	} {
		if task, webhook := cutWebhookName(tt.name, tt.id); task != tt.task || webhook != tt.webhook {
			t.Errorf("%s with %q: %q, %q", tt.name, tt.id, task, webhook)
		}
	}
}

func TestOlderHistoryLengths(t *testing.T) {
	for n, want := range map[string]string{"3": "3", `"3"`: "3", "3.0": "3", "2147483647": "2147483647", "2147483648": "", "-2147483649": "", "1.5": "", `"x"`: "", "true": ""} {
		v, err := v03Codec{}.DecodeRequest(GetTask, []byte(`{"id":"t","historyLength":`+n+`}`))
		got := ""
		if err == nil {
			got = fmt.Sprint(*v.(*a2a.GetTaskRequest).HistoryLength)
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q: %v", n, got, want, err)
		}
	}
}

// The list of faults is bounded, however many a document has.
func TestFaultsAreBounded(t *testing.T) {
	parts := strings.Repeat(`{"text":1},`, 3*maxErrorItems)
	_, err := v03Codec{}.DecodeRequest(SendMessage, []byte(`{"message":{"parts":[`+strings.TrimSuffix(parts, ",")+`]}}`))
	if e, ok := err.(*a2a.Error); !ok || len(e.Fields) != maxErrorItems || len(e.Message) > maxErrorText+3 {
		t.Errorf("%v", err)
	}
}

// Credentials without a scheme name no scheme.
func TestWebhooksWithoutAScheme(t *testing.T) {
	c := &a2a.TaskPushNotificationConfig{ID: "p", TaskID: "t", URL: "u", Authentication: &a2a.AuthenticationInfo{Credentials: "c"}}
	for name, codec := range map[string]Codec{"0.1": v01Codec{}, "0.3": v03Codec{}, "0.3 proto": v03Codec{formProto}} {
		doc := codec.AppendResult(nil, GetTaskPushNotificationConfig, nil, c)
		if !strings.Contains(string(doc), `"authentication":{"schemes":[],"credentials":"c"}`) {
			t.Errorf("%s: %s", name, doc)
		}
		got, err := codec.DecodeResult(GetTaskPushNotificationConfig, &a2a.GetTaskPushNotificationConfigRequest{TaskID: "t", ID: "p"}, doc)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if a := got.(*a2a.TaskPushNotificationConfig).Authentication; a == nil || *a != *c.Authentication {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// A program's mistakes are written as they are, and the document stays readable.
func TestOlderCodecsWriteWhatIsMissing(t *testing.T) {
	message := &a2a.SendMessageRequest{}
	odd := &a2a.Task{
		Status: a2a.TaskStatus{State: 99}, Artifacts: []*a2a.Artifact{nil, {Parts: []*a2a.Part{nil}}}, History: []*a2a.Message{nil, {Role: 99, Parts: []*a2a.Part{nil}}},
	}
	for name, codec := range map[string]Codec{"0.1": v01Codec{}, "0.3": v03Codec{}, "0.3 proto": v03Codec{formProto}} {
		all := int32(100)
		docs := [][]byte{
			codec.AppendRequest(nil, SendMessage, message),
			codec.AppendResult(nil, SendMessage, message, &a2a.SendMessageResponse{Task: odd}),
			codec.AppendResult(nil, GetTask, &a2a.GetTaskRequest{HistoryLength: &all}, odd),
			codec.AppendResult(nil, GetTask, &a2a.GetTaskRequest{}, (*a2a.Task)(nil)),
		}
		for _, el := range []*a2a.StreamResponse{{Task: odd}, {Message: &a2a.Message{}}, {StatusUpdate: &a2a.TaskStatusUpdateEvent{Status: odd.Status}}, {ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{Artifact: odd.Artifacts[1]}}} {
			for _, doc := range written(codec.Events(SendStreamingMessage, message), el) {
				docs = append(docs, []byte(doc))
			}
		}
		for _, doc := range docs {
			if !json.Valid(doc) {
				t.Errorf("%s: %s", name, doc)
			}
		}
	}
	w := oldWriter{jsonWriter{[]byte("{")}, form01}
	if w.state("state", 99); string(w.b) != `{"state":"unknown"` {
		t.Errorf("a state that there is not: %s", w.b)
	}
}

// Programs look for each word of 0.3's status messages.
func TestWordsOfV03Status(t *testing.T) {
	for code, want := range map[a2a.Code]string{
		a2a.CodeTaskNotFound:                   "5 TASK_NOT_FOUND",
		a2a.CodeTaskNotCancelable:              "9 TASK_NOT_CANCELABLE",
		a2a.CodePushNotificationNotSupported:   "12 PUSH_NOTIFICATIONS_NOT_SUPPORTED",
		a2a.CodeUnsupportedOperation:           "12 OPERATION_NOT_SUPPORTED",
		a2a.CodeContentTypeNotSupported:        "3 CONTENT_TYPE_NOT_SUPPORTED",
		a2a.CodeInvalidAgentResponse:           "13 INVALID_AGENT_RESPONSE",
		a2a.CodeExtendedAgentCardNotConfigured: "12 AUTHENTICATED_CARD_NOT_CONFIGURED",
		a2a.CodeParse:                          "3 PARSE_ERROR",
		a2a.CodeInvalidRequest:                 "3 INVALID_REQUEST",
		a2a.CodeInvalidParams:                  "3 INVALID_PARAMS",
		a2a.CodeMethodNotFound:                 "12 METHOD_NOT_FOUND",
		a2a.CodeVersionNotSupported:            "12 OPERATION_NOT_SUPPORTED", // 0.3 does not have it
	} {
		st := ErrorToStatus(V03, &a2a.Error{Code: code, Message: "why"})
		if got := fmt.Sprint(st.Code, " ", st.Message); !strings.HasSuffix(got, want+": why") {
			t.Errorf("%s: %s", code, got)
		}
		if st := ErrorToStatus(V10, &a2a.Error{Code: code, Message: "why"}); st.Message != "why" {
			t.Errorf("%s in 1.0: %s", code, st.Message)
		}
	}
}

// Readers of 0.3 over gRPC find addresses also on a card that offers none in 0.3.
func TestCardOfV03OverGRPCWithoutV03(t *testing.T) {
	c := &a2a.AgentCard{Name: "A", SupportedInterfaces: []*a2a.AgentInterface{
		nil, iface("h:1", "GRPC", "1.0"), iface("https://h", "JSONRPC", "odd"), iface("h:2", "GRPC", "0.1"),
	}}
	m, err := GRPCOf(V03).Result(GetExtendedAgentCard, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	p := m.(*v03.AgentCard)
	if p.Url != "h:1" || p.PreferredTransport != "GRPC" || len(p.AdditionalInterfaces) != 3 || p.AdditionalInterfaces[1].Transport != "JSONRPC" {
		t.Errorf("%v", p)
	}
	c.SupportedInterfaces = append(c.SupportedInterfaces, iface("https://h", "JSONRPC", "0.3"), iface("h:3", "GRPC", "0.3"))
	if m, err = GRPCOf(V03).Result(GetExtendedAgentCard, nil, c); err != nil {
		t.Fatal(err)
	}
	if p = m.(*v03.AgentCard); p.Url != "h:3" || len(p.AdditionalInterfaces) != 2 || proto.Size(p) == 0 {
		t.Errorf("%v", p)
	}
}

// What an HTTP status means where the body says nothing.
func TestStatusAlone(t *testing.T) {
	for status, want := range map[int]a2a.Code{
		400: a2a.CodeInvalidRequest, 401: a2a.CodeUnauthenticated, 402: a2a.CodeInvalidRequest, 403: a2a.CodePermissionDenied,
		404: a2a.CodeMethodNotFound, 405: a2a.CodeMethodNotAllowed, 407: a2a.CodeUnauthenticated, 408: a2a.CodeUnavailable,
		409: a2a.CodeInvalidRequest, 413: a2a.CodeTooLarge, 415: a2a.CodeUnsupportedMedia, 422: a2a.CodeInvalidParams, 429: a2a.CodeRateLimited,
		499: a2a.CodeInvalidRequest, 500: a2a.CodeInternal, 501: a2a.CodeUnsupportedOperation, 502: a2a.CodeUnavailable, 503: a2a.CodeUnavailable,
		504: a2a.CodeUnavailable, 505: a2a.CodeInternal, 302: a2a.CodeInternal,
	} {
		if got := ErrorFromHTTP(status, "text/html", []byte("<p>")).Code; got != want {
			t.Errorf("%d is %v, want %v", status, got, want)
		}
	}
}

// The codes of older versions: a later code is written as the nearest that the version
// has.
func TestCodesThatAVersionHas(t *testing.T) {
	later := map[a2a.Code]string{
		a2a.CodeInvalidAgentResponse: "0.3", a2a.CodeExtendedAgentCardNotConfigured: "0.3",
		a2a.CodeExtensionSupportRequired: "1.0", a2a.CodeVersionNotSupported: "1.0", a2a.CodeTaskGenerationMismatch: "1.1",
	}
	for _, row := range Errors {
		for _, d := range []Dialect{V01, V03, V0x, V10, V11} {
			want := row.Code
			if d.Version() < later[row.Code] {
				want = a2a.CodeUnsupportedOperation
				if row.Code == a2a.CodeInvalidAgentResponse {
					want = a2a.CodeInternal
				}
			}
			if got := errorRowIn(d, row.Code).Code; got != want {
				t.Errorf("%v in %v is %v, want %v", row.Code, d, got, want)
			}
		}
	}
	if ErrorRowOf(250).Code != a2a.CodeInternal {
		t.Error("a code that there is not is not internal")
	}
}

func TestVersionsThatLookLikeOthers(t *testing.T) {
	for _, v := range []string{"1.0-1", "1.0 1", "1.0.", "1.0.1x", "1.01", "0.3a1", "", "1", "v1.0"} {
		if d, ok := ParseVersion(v); ok {
			t.Errorf("%q is %v", v, d)
		}
	}
}

// No id can be read as a path by a program on the way.
func TestPathsOfOddIDs(t *testing.T) {
	for id, want := range map[string]string{".": "%2E", "..": "%2E%2E", "...": "...", "a/b": "a%2Fb", "a:b": "a%3Ab", "a b": "a%20b", "%": "%25"} {
		call, err := BuildREST(V10, GetTask, 0, &a2a.GetTaskRequest{ID: id})
		if err != nil || call.Path != "/tasks/"+want {
			t.Errorf("%q: %s, %v", id, call.Path, err)
		}
	}
}

// A file in one layer of base64 is not decoded twice because its text begins oddly.
func TestBytesThatAreNoText(t *testing.T) {
	for _, inner := range []string{"\x00abcdef", "abc\x00def", "\x7fabcdefg"} {
		sent := []byte(base64.StdEncoding.EncodeToString([]byte(inner)))
		if got := undouble(sent, "text/plain"); string(got) != string(sent) {
			t.Errorf("%q became %q", sent, got)
		}
	}
}
