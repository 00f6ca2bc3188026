package dialect

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// readV01 reads the params of a request of 0.1.
func readV01[R any](t *testing.T, op Op, params string) R {
	t.Helper()
	req, err := v01Codec{}.DecodeRequest(op, []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	return req.(R)
}

func TestV01SendNamesTheTask(t *testing.T) {
	req := readV01[*a2a.SendMessageRequest](t, SendMessage,
		`{"id":"t1","sessionId":"s1","message":{"role":"user","parts":[{"type":"text","text":"hi"}],"metadata":{"a":1}},"metadata":{"b":[ 2 ]}}`)
	m := req.Message
	if m.TaskID != "t1" || m.ContextID != "s1" || m.Role != a2a.RoleUser || m.Text() != "hi" || string(m.Metadata) != `{"a":1}` || string(req.Metadata) != `{"b":[ 2 ]}` {
		t.Errorf("read as %s", req.AppendJSON(nil))
	}
	if want := (a2a.Legacy{Version: "0.1", CreateByID: true, Reopen: true, TaskOnly: true}); *req.Legacy != want {
		t.Errorf("legacy %+v", req.Legacy)
	}
	if err := req.Validate(); err != nil {
		t.Error(err)
	}
	again := readV01[*a2a.SendMessageRequest](t, SendMessage, `{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}`)
	if m.MessageID == "" || again.Message.MessageID == m.MessageID {
		t.Errorf("two messages have the ids %q and %q", m.MessageID, again.Message.MessageID)
	}
	if req.Configuration.ReturnImmediately {
		t.Error("it does not wait")
	}
}

// What clients of 0.1 send, or published samples of it, by the number that it
// has in the list of seeds.
func TestV01ServerTolerates(t *testing.T) {
	for _, tt := range []struct{ seed, params, want string }{
		{"004-7 no session", `{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"a"}]}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"historyLength":0}}`},
		{"004-8 the parts are called data", `{"id":"t1","message":{"role":"user","data":[{"type":"text","text":"a"}]}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"historyLength":0}}`},
		{"004-9 empty metadata", `{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"a"}]},"metadata":{}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"historyLength":0},"metadata":{}}`},
		{"004-21 the next message", `{"id":"t1","sessionId":"s1","message":{"role":"user","parts":[{"type":"text","text":"a"}]}}`,
			`{"message":{"messageId":"","contextId":"s1","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"historyLength":0}}`},
		{"004-25 the file's bytes are called data", `{"id":"t1","message":{"role":"user","parts":[{"type":"file","file":{"mimeType":"image/png","data":"AQI="}}]}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"raw":"AQI=","mediaType":"image/png"}]},"configuration":{"historyLength":0}}`},
		{"004-38 the form of the answer is the agent's to read", `{"id":"t1","message":{"role":"user","parts":[{"type":"text","text":"a","metadata":{"mimeType":"application/json","schema":{}}}]}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a","metadata":{"mimeType":"application/json","schema":{}}}]},"configuration":{"historyLength":0}}`},
		{"C5 no type, and kind", `{"id":"t1","message":{"role":"user","parts":[{"text":"a"},{"kind":"data","data":{"b":1}},{"type":"text","data":{"c":1}}]}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"},{"data":{"b":1}},{"data":{"c":1}}]},"configuration":{"historyLength":0}}`},
		{"C6 every name of a file", `{"id":"t1","message":{"role":"user","parts":[{"file":{"bytes":"AQI=","name":"n"}},{"file":{"fileWithBytes":"AQI","mediaType":"a/b"}},` +
			`{"file":{"uri":"u:1","mimeType":"a/b"}},{"file":{"fileWithUri":"u:2"}},{"file":{"bytes":"","uri":"u:3"}},{"file":{"bytes":""}}]}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"raw":"AQI=","filename":"n"},{"raw":"AQI=","mediaType":"a/b"},` +
				`{"url":"u:1","mediaType":"a/b"},{"url":"u:2"},{"url":"u:3"},{"raw":""}]},"configuration":{"historyLength":0}}`},
		{"C7 parts before content before data", `{"id":"t1","message":{"role":"user","parts":[{"text":"a"}],"content":[{"text":"b"}],"data":[{"text":"c"}]}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"historyLength":0}}`},
		{"C15 scheme as a string", `{"id":"t1","message":{"role":"user","parts":[{"text":"a"}]},"pushNotification":{"url":"https://x.org","token":"k","authentication":{"schemes":"jwt"}}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"taskPushNotificationConfig":` +
				`{"id":"t1","url":"https://x.org","token":"k","authentication":{"scheme":"jwt"}},"historyLength":0}}`},
		{"no scheme at all", `{"id":"t1","message":{"role":"user","parts":[{"text":"a"}]},"pushNotification":{"url":"https://x.org","authentication":{"schemes":[]}}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"taskPushNotificationConfig":{"id":"t1","url":"https://x.org"},"historyLength":0}}`},
		{"2.4 data that is an array", `{"id":"t1","message":{"role":"user","parts":[{"type":"data","data":[1,null]}]}}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"data":[1,null]}]},"configuration":{"historyLength":0}}`},
		{"2.8 modes of the reference implementation", `{"id":"t1","message":{"role":"user","parts":[{"text":"a"}]},"acceptedOutputModes":["text"],"historyLength":3}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"acceptedOutputModes":["text"],"historyLength":3}}`},
		{"2.12 null members", `{"id":"t1","sessionId":null,"message":{"role":"user","parts":[{"text":"a","metadata":null,"data":null}],"metadata":null},"historyLength":null,"pushNotification":null,"metadata":null}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"historyLength":0}}`},
		{"3.8 a negative length is ignored", `{"id":"t1","message":{"role":"user","parts":[{"text":"a"}]},"historyLength":-1}`,
			`{"message":{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"historyLength":0}}`},
	} {
		t.Run(tt.seed, func(t *testing.T) {
			req := readV01[*a2a.SendMessageRequest](t, SendStreamingMessage, tt.params)
			if err := req.Validate(); err != nil {
				t.Error(err)
			}
			req.Message.MessageID = ""
			if got := string(req.AppendJSON(nil)); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestV01RequestsThatAreWrong(t *testing.T) {
	for _, tt := range []struct {
		op     Op
		params string
		want   string
	}{
		{SendMessage, ``, "id: is required: the client names the task"},
		{SendMessage, `[]`, "params: must be an object"},
		{SendMessage, `{"message":{"role":"user","parts":[{"text":"a"}]}}`, "id: is required: the client names the task"},
		{SendMessage, `{"id":1,"message":{"role":"robot","parts":[{"type":"text","text":1}]}}`, "id: expected a string; message.role: is not a role: use user or agent; message.parts[0].text: expected a string"},
		{SendMessage, `{"id":"t","message":{"data":["a"]}}`, ""},
		{SendMessage, `{"id":"t","message":{"parts":[{}]}}`, "message.parts[0]: needs exactly one of text, file and data"},
		{SendMessage, `{"id":"t","message":{"parts":[{"type":"image","text":"a","data":{}}]}}`, "message.parts[0].type: is not a kind of part: use text, file or data"},
		{SendMessage, `{"id":"t","message":{"parts":[{"type":"file","file":{"name":"x"}}]}}`, "message.parts[0].file: needs bytes or uri"},
		{SendMessage, `{"id":"t","message":{"parts":[{"type":"file","file":{"bytes":"*"}}]}}`, "message.parts[0].file.bytes: expected a string in base64"},
		{SendMessage, `{"id":"t","message":{"parts":[` + strings.Repeat(`{"text":"a"},`, a2a.MaxParts) + `{"text":"a"}]}}`, "message: is one part too many: at most 1000 are taken"},
		{GetTask, `{"id":"t","historyLength":1.5}`, "historyLength: expected a whole number"},
		{CancelTask, `{"id":"t","metadata":[]}`, "metadata: expected an object"},
		{SubscribeToTask, `{"id":{}}`, "id: expected a string"},
		{CreateTaskPushNotificationConfig, `{"id":"t"}`, "pushNotificationConfig: is required"},
		{CreateTaskPushNotificationConfig, `{"id":"t","pushNotificationConfig":5}`, "pushNotificationConfig: expected an object"},
		{CreateTaskPushNotificationConfig, `{"id":"t","pushNotificationConfig":{"url":"u","authentication":{"schemes":[1]}}}`, "pushNotificationConfig.authentication.schemes[0]: expected a string"},
	} {
		req, err := v01Codec{}.DecodeRequest(tt.op, []byte(tt.params))
		if tt.want == "" {
			if err != nil || req.(*a2a.SendMessageRequest).Validate() == nil {
				t.Errorf("%s: %v, %v", tt.params, req, err)
			}
			continue
		}
		if !errors.Is(err, a2a.ErrInvalidParams) || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%.200s\n got %v\nwant %s", tt.params, err, tt.want)
		}
	}
}

// Requests as our client sends them, and as our server reads them.
func TestV01Requests(t *testing.T) {
	n := int32(2)
	for _, tt := range []struct {
		op   Op
		req  appender
		wire string
		back string // in the form of 1.0; "" means as it was
	}{
		{GetTask, &a2a.GetTaskRequest{Tenant: "acme", ID: "t1"}, `{"id":"t1"}`, `{"id":"t1","historyLength":0}`},
		{GetTask, &a2a.GetTaskRequest{ID: "t1", HistoryLength: &n}, `{"id":"t1","historyLength":2}`, ``},
		{CancelTask, &a2a.CancelTaskRequest{ID: "t1", Metadata: a2a.JSON(`{"a":"<>"}`)}, `{"id":"t1","metadata":{"a":"<>"}}`, ``},
		{SubscribeToTask, &a2a.SubscribeToTaskRequest{ID: "t1"}, `{"id":"t1"}`, ``},
		{CreateTaskPushNotificationConfig, &a2a.TaskPushNotificationConfig{TaskID: "t1", ID: "c", URL: "u:1", Token: "k", Authentication: &a2a.AuthenticationInfo{Scheme: "Bearer", Credentials: "x"}},
			`{"id":"t1","pushNotificationConfig":{"url":"u:1","token":"k","authentication":{"schemes":["Bearer"],"credentials":"x"}}}`,
			`{"id":"t1","taskId":"t1","url":"u:1","token":"k","authentication":{"scheme":"Bearer","credentials":"x"}}`},
		{GetTaskPushNotificationConfig, &a2a.GetTaskPushNotificationConfigRequest{TaskID: "t1", ID: "c"}, `{"id":"t1"}`, `{"taskId":"t1","id":"t1"}`},
	} {
		doc := string(v01Codec{}.AppendRequest(nil, tt.op, tt.req))
		if doc != tt.wire {
			t.Errorf("\n got %s\nwant %s", doc, tt.wire)
		}
		if tt.back == "" {
			tt.back = string(tt.req.AppendJSON(nil))
		}
		if got := string(readV01[appender](t, tt.op, doc).AppendJSON(nil)); got != tt.back {
			t.Errorf("%s is read as\n     %s\nwant %s", doc, got, tt.back)
		}
	}
	sub := readV01[*a2a.SubscribeToTaskRequest](t, SubscribeToTask, `{"id":"t1","historyLength":4,"metadata":{}}`)
	if want := (a2a.Legacy{Version: "0.1", FinishedToo: true}); *sub.Legacy != want {
		t.Errorf("resubscribe: %+v", sub.Legacy)
	}
}
