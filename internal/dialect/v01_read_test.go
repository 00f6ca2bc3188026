package dialect

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/a2a"
)

// v01Ask is a client's request, for the task of the answers.
func v01Ask() *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{TaskID: "t1", ContextID: "c1"}}
}

func readV01Task(t *testing.T, op Op, req any, doc string) *a2a.Task {
	t.Helper()
	res, err := v01Codec{}.DecodeResult(op, req, []byte(doc))
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	if sent, ok := res.(*a2a.SendMessageResponse); ok {
		return sent.Task
	}
	return res.(*a2a.Task)
}

func readV01Events(t *testing.T, doc string) []*a2a.StreamResponse {
	t.Helper()
	els, err := v01Codec{}.DecodeEvent(SendStreamingMessage, v01Ask(), []byte(doc))
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return els
}

// What servers of 0.1 get wrong, or published samples of it, by the number
// that it has in the list of seeds.
func TestV01ClientTolerates(t *testing.T) {
	get := &a2a.GetTaskRequest{ID: "t1"}
	for _, tt := range []struct {
		seed string
		req  any
		doc  string
		want string // the task in the form of 1.0, without the ids of messages
	}{
		{"000-4 messages without ids", get,
			`{"status":{"state":"input-required","message":{"role":"agent","parts":[{"type":"text","text":"who?"}]}},
			  "history":[{"role":"user","parts":[{"type":"text","text":"hi"}]},{"role":"agent","parts":[{"type":"text","text":"who?"}]}]}`,
			`{"id":"t1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"","taskId":"t1","role":"ROLE_AGENT","parts":[{"text":"who?"}]}},` +
				`"history":[{"messageId":"","taskId":"t1","role":"ROLE_USER","parts":[{"text":"hi"}]}]}`},
		{"000-6 the last of the history is another", get,
			`{"id":"t1","status":{"state":"working","message":{"role":"agent","parts":[{"text":"b"}]}},"history":[{"role":"agent","parts":[{"text":"a"}]}]}`,
			`{"id":"t1","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"","taskId":"t1","role":"ROLE_AGENT","parts":[{"text":"b"}]}},` +
				`"history":[{"messageId":"","taskId":"t1","role":"ROLE_AGENT","parts":[{"text":"a"}]}]}`},
		{"004-10 artifacts without index", v01Ask(),
			`{"id":"t1","sessionId":"s1","status":{"state":"completed"},"artifacts":[{"name":"joke","parts":[{"type":"text","text":"ha"}]}],"metadata":{}}`,
			`{"id":"t1","contextId":"s1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"index-0","name":"joke","parts":[{"text":"ha"}]}],"metadata":{}}`},
		{"004-10 several of them", v01Ask(),
			`{"id":"t1","status":{"state":"completed"},"artifacts":[{"parts":[{"text":"a"}]},{"index":0,"parts":[{"text":"b"}]},{"parts":[{"text":"c"}],"index":7}]}`,
			`{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"index-0","parts":[{"text":"a"}]},` +
				`{"artifactId":"index-1","parts":[{"text":"b"}]},{"artifactId":"index-7","parts":[{"text":"c"}]}]}`},
		{"004-15 the id of the request in place of the task's", &a2a.CancelTaskRequest{ID: "t1"},
			`{"id":1,"sessionId":"s1","status":{"state":"canceled"},"metadata":{}}`,
			`{"id":"t1","contextId":"s1","status":{"state":"TASK_STATE_CANCELED"},"metadata":{}}`},
		{"004-15 another id", v01Ask(), `{"id":"other","status":{"state":"completed"}}`,
			`{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}`},
		{"004-20 the status' message has no role", v01Ask(),
			`{"id":"t1","status":{"state":"input-required","message":{"parts":[{"type":"text","text":"a"},{"type":"data","data":{"b":1}}]}}}`,
			`{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"messageId":"","contextId":"c1","taskId":"t1","role":"ROLE_AGENT",` +
				`"parts":[{"text":"a"},{"data":{"b":1}}]}}}`},
		{"004-25 the file's bytes are called data", v01Ask(),
			`{"id":"t1","status":{"state":"completed"},"artifacts":[{"parts":[{"type":"file","file":{"mimeType":"image/png","data":"AQI="}}]}]}`,
			`{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"index-0","parts":[{"raw":"AQI=","mediaType":"image/png"}]}]}`},
		{"004-27 a timestamp without an offset", v01Ask(), `{"id":1,"status":{"state":"working","timestamp":"2025-04-02T16:59:25.331844"}}`,
			`{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","timestamp":"2025-04-02T16:59:25.331Z"}}`},
		{"004-35 an answer before the end", v01Ask(), `{"id":"t1","status":{"state":"working","message":{"role":"agent","parts":[{"type":"text","text":"soon"}]}}}`,
			`{"id":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"","contextId":"c1","taskId":"t1","role":"ROLE_AGENT","parts":[{"text":"soon"}]}}}`},
		{"2.12 null members", get, `{"id":"t1","sessionId":null,"status":{"state":"submitted","message":null,"timestamp":null},"artifacts":null,"history":null,"metadata":null}`,
			`{"id":"t1","status":{"state":"TASK_STATE_SUBMITTED"}}`},
		{"2.1 unknown", get, `{"id":"t1","status":{"state":"unknown"}}`, `{"id":"t1","status":{"state":"TASK_STATE_UNSPECIFIED"}}`},
	} {
		t.Run(tt.seed, func(t *testing.T) {
			op := SendMessage
			switch tt.req.(type) {
			case *a2a.GetTaskRequest:
				op = GetTask
			case *a2a.CancelTaskRequest:
				op = CancelTask
			}
			task := readV01Task(t, op, tt.req, tt.doc)
			for _, m := range append(task.History, task.Status.Message) {
				if m != nil && m.MessageID == "" {
					t.Error("a message has no id")
				} else if m != nil {
					m.MessageID = ""
				}
			}
			if got := string(task.AppendJSON(nil)); got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestV01ClientToleratesInStreams(t *testing.T) {
	for _, tt := range []struct{ seed, doc, want string }{
		{"002-6 the state in the event itself", `{"state":"completed","final":true}`,
			`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`},
		{"002-9 what the last event says", `{"id":"t1","status":{"state":"completed"},"final":true,"metadata":{"reopenable":true}}`,
			`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"},"metadata":{"reopenable":true}}}`},
		{"004-27", `{"id":1,"status":{"state":"working","timestamp":"2025-04-02T16:59:25.331844"},"final":false}`,
			`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING","timestamp":"2025-04-02T16:59:25.331Z"}}}`},
		{"004-28 artifacts in an array", `{"id":1,"artifact":[{"parts":[{"type":"text","text":"a"}],"index":0,"append":false,"lastChunk":false},{"parts":[{"text":"b"}]}]}`,
			`{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"index-0","parts":[{"text":"a"}]}}}` +
				`{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"index-1","parts":[{"text":"b"}]}}}`},
		{"004-29 a chunk", `{"id":1,"artifact":{"parts":[{"type":"text","text":"a"}],"index":0,"append":true,"lastChunk":true}}`,
			`{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"index-0","parts":[{"text":"a"}]},"append":true,"lastChunk":true}}`},
		{"004-34", `{"id":1,"status":{"state":"completed"},"final":true}`,
			`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_COMPLETED"}}}`},
		{"a task in place of a stream", `{"id":"t1","sessionId":"s1","status":{"state":"completed"},"artifacts":[{"parts":[{"text":"a"}]}]}`,
			`{"task":{"id":"t1","contextId":"s1","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"index-0","parts":[{"text":"a"}]}]}}`},
		{"nothing", `{"id":"t1"}`, ``},
	} {
		t.Run(tt.seed, func(t *testing.T) {
			var got []byte
			for _, el := range readV01Events(t, tt.doc) {
				got = el.AppendJSON(got)
			}
			if string(got) != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// 004-29 to 004-31: chunks amount to the artifact that tasks/get returns.
func TestV01ChunksAmountToTheArtifact(t *testing.T) {
	streamed := new(a2a.Task)
	for _, doc := range []string{
		`{"id":1,"status":{"state":"working"},"final":false}`,
		`{"id":1,"artifact":{"parts":[{"type":"text","text":"1"}],"index":0,"append":false,"lastChunk":false}}`,
		`{"id":1,"artifact":{"parts":[{"type":"text","text":"2"}],"index":0,"append":true,"lastChunk":false}}`,
		`{"id":1,"artifact":{"parts":[{"type":"text","text":"3"}],"index":0,"append":true,"lastChunk":true}}`,
		`{"id":1,"artifact":{"parts":[{"type":"text","text":"b"}],"index":1,"lastChunk":true}}`,
		`{"id":1,"status":{"state":"completed"},"final":true}`,
	} {
		for _, el := range readV01Events(t, doc) {
			streamed.ApplyEvent(el)
		}
	}
	got := readV01Task(t, GetTask, &a2a.GetTaskRequest{ID: "t1"}, `{"id":"t1","sessionId":"c1","status":{"state":"completed"},"artifacts":[
		{"index":0,"parts":[{"type":"text","text":"1"},{"type":"text","text":"2"},{"type":"text","text":"3"}]},{"index":1,"parts":[{"type":"text","text":"b"}]}]}`)
	if a, b := string(streamed.AppendJSON(nil)), string(got.AppendJSON(nil)); a != b {
		t.Errorf("streamed  %s\ngot       %s", a, b)
	}
}

// A task that was created in 0.3 or later may be answered in the form of 0.3, since the
// method has the same name there.
func TestV01ClientReadsAnswersOf03(t *testing.T) {
	want := asked()
	want.Version, want.Generation = "", 0
	want.Artifacts = []*a2a.Artifact{{ArtifactID: "x", Parts: []*a2a.Part{a2a.TextPart("1")}}, {ArtifactID: "y", Parts: []*a2a.Part{a2a.TextPart("2")}}}
	newer, get := CodecOf(V03, a2a.BindingJSONRPC), &a2a.GetTaskRequest{ID: "t1"}
	got := readV01Task(t, GetTask, get, string(newer.AppendResult(nil, GetTask, get, want)))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	sub := &a2a.SubscribeToTaskRequest{ID: "t1"}
	got = new(a2a.Task)
	for _, doc := range written(newer.Events(SubscribeToTask, sub), &a2a.StreamResponse{Task: want}, chunk("y", "3", true), status(a2a.TaskStateCompleted)) {
		els, err := v01Codec{}.DecodeEvent(SubscribeToTask, sub, []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		for _, el := range els {
			got.ApplyEvent(el)
		}
	}
	if got.ContextID != "c1" || got.Status.State != a2a.TaskStateCompleted || len(got.Artifacts) != 2 || len(got.Artifacts[1].Parts) != 2 {
		t.Errorf("streamed: %s", got.AppendJSON(nil))
	}
}

func TestV01MessageIDsFollowFromTheWords(t *testing.T) {
	read := func(message string) *a2a.Message {
		return readV01Task(t, GetTask, &a2a.GetTaskRequest{ID: "t1"}, `{"status":{"state":"working","message":`+message+`}}`).Status.Message
	}
	a, b := read(`{"role":"agent","parts":[{"type":"text","text":"a"}]}`), read(` {"parts" : [{"kind":"text","text":"\u0061"}]}`)
	if a.MessageID != b.MessageID {
		t.Errorf("the same words have the ids %q and %q", a.MessageID, b.MessageID)
	}
	for _, other := range []string{`{"role":"user","parts":[{"text":"a"}]}`, `{"parts":[{"text":"a "}]}`, `{"parts":[{"text":"a"}],"metadata":{}}`} {
		if m := read(other); m.MessageID == a.MessageID {
			t.Errorf("%s has the id of another", other)
		}
	}
}

func TestV01AnswersThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct {
		op       Op
		req      any
		doc, why string
	}{
		{SendMessage, v01Ask(), ``, "cannot be read as JSON"},
		{SendMessage, v01Ask(), `null`, "must be an object"},
		{SendMessage, v01Ask(), `"done"`, "must be an object"},
		{SendMessage, v01Ask(), `{}`, "status: is required"},
		{SendMessage, v01Ask(), `{"id":"t1","status":"completed"}`, "status: expected an object"},
		{SendMessage, v01Ask(), `{"id":"t1","status":{"state":"done"}}`, "status.state: is not a task state"},
		{GetTask, &a2a.GetTaskRequest{ID: "t1"}, `{"status":{"state":"working","timestamp":"now"}}`, "status.timestamp"},
		{GetTaskPushNotificationConfig, &a2a.GetTaskPushNotificationConfigRequest{TaskID: "t1"}, `{"id":"t1","pushNotificationConfig":[]}`, "pushNotificationConfig: expected an object"},
	} {
		res, err := v01Codec{}.DecodeResult(tt.op, tt.req, []byte(tt.doc))
		var e *a2a.Error
		if res != nil || !errors.As(err, &e) || e.Code != a2a.CodeInvalidAgentResponse || e.Cause == nil || !strings.Contains(e.Cause.Error(), tt.why) {
			t.Errorf("%s is read as %v, %v", tt.doc, res, err)
		}
		if els, err := (v01Codec{}).DecodeEvent(tt.op, tt.req, []byte(tt.doc)); err == nil && len(els) > 0 {
			t.Errorf("%s is the event %v", tt.doc, els)
		}
	}
}

// 004-16 and 004-17; C15: one scheme as a string.
func TestV01WebhookAnswers(t *testing.T) {
	req := &a2a.GetTaskPushNotificationConfigRequest{TaskID: "t1", ID: "t1"}
	for _, schemes := range []string{`["jwt"]`, `"jwt"`, `["jwt","Basic"]`} {
		res, err := v01Codec{}.DecodeResult(GetTaskPushNotificationConfig, req,
			[]byte(`{"id":1,"pushNotificationConfig":{"url":"https://x.org","token":"k","authentication":{"schemes":`+schemes+`,"credentials":"p"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		got := string(res.(*a2a.TaskPushNotificationConfig).AppendJSON(nil))
		if want := `{"id":"t1","taskId":"t1","url":"https://x.org","token":"k","authentication":{"scheme":"jwt","credentials":"p"}}`; got != want {
			t.Errorf("schemes %s: %s", schemes, got)
		}
	}
	for _, none := range []string{`{"id":"t1"}`, `{"id":"t1","pushNotificationConfig":null}`, `{"id":"t1","pushNotificationConfig":{}}`} {
		if res, err := (v01Codec{}).DecodeResult(GetTaskPushNotificationConfig, req, []byte(none)); res != nil || !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s is read as %v, %v", none, res, err)
		}
	}
}
