package dialect

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

// v03Stream writes elements as a server does, and reports whether the stream ended.
func v03Stream(c v03Codec, op Op, els ...*a2a.StreamResponse) (events []string, ended bool) {
	e := c.Events(op, NewRequest(op))
	for _, el := range els {
		for i, more := 0, true; more; i++ {
			var doc []byte
			if doc, more = e.Append([]byte("data: "), el, i); len(doc) > len("data: ") {
				events = append(events, strings.TrimPrefix(string(doc), "data: "))
			}
		}
		if e.Ended() {
			return events, true
		}
	}
	return events, false
}

func TestV03Streams(t *testing.T) {
	task := func(s a2a.TaskState) *a2a.StreamResponse {
		return &a2a.StreamResponse{Task: &a2a.Task{ID: "t", ContextID: "c", Status: a2a.TaskStatus{State: s}, Generation: 1}}
	}
	status := func(s a2a.TaskState) *a2a.StreamResponse {
		return &a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: s}, Metadata: a2a.JSON(`{}`), Generation: 2}}
	}
	chunk := &a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{TaskID: "t", ContextID: "c", Append: true, LastChunk: true,
		Artifact: &a2a.Artifact{ArtifactID: "a", Parts: []*a2a.Part{a2a.TextPart("x")}}}}
	message := &a2a.StreamResponse{Message: &a2a.Message{MessageID: "m", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("x")}}}
	for _, tt := range []struct {
		name      string
		els       []*a2a.StreamResponse
		ts, proto []string
		ended     bool
	}{
		{"a task", []*a2a.StreamResponse{task(a2a.TaskStateSubmitted), status(a2a.TaskStateWorking), chunk, status(a2a.TaskStateCompleted), chunk},
			[]string{
				`{"kind":"task","id":"t","contextId":"c","status":{"state":"submitted"}}`,
				`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},"final":false,"metadata":{}}`,
				`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"x"}]},"append":true,"lastChunk":true}`,
				`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"completed"},"final":true,"metadata":{}}`,
			}, []string{
				`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
				`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"final":false,"metadata":{}}}`,
				`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"x"}]},"append":true,"lastChunk":true}}`,
				`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"final":true,"metadata":{}}}`,
			}, true},
		{"a message", []*a2a.StreamResponse{message},
			[]string{`{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}]}`},
			[]string{`{"message":{"messageId":"m","role":"ROLE_AGENT","content":[{"text":"x"}]}}`}, false},
		{"a finished task", []*a2a.StreamResponse{task(a2a.TaskStateFailed), chunk},
			[]string{
				`{"kind":"task","id":"t","contextId":"c","status":{"state":"failed"}}`,
				`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"failed"},"final":true}`,
			},
			[]string{`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_FAILED"}}}`}, true},
		{"a question", []*a2a.StreamResponse{status(a2a.TaskStateInputRequired), chunk},
			[]string{`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"input-required"},"final":true,"metadata":{}}`},
			[]string{`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"},"final":true,"metadata":{}}}`}, true},
		{"a task that waits", []*a2a.StreamResponse{task(a2a.TaskStateInputRequired)},
			[]string{`{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required"}}`},
			[]string{`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`}, false},
		{"authorization", []*a2a.StreamResponse{status(a2a.TaskStateAuthRequired)},
			[]string{`{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"auth-required"},"final":false,"metadata":{}}`},
			[]string{`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED"},"final":false,"metadata":{}}}`}, false},
		{"nothing", []*a2a.StreamResponse{{}}, nil, nil, false},
	} {
		for c, want := range map[v03Codec][]string{{}: tt.ts, {formProto}: tt.proto} {
			for _, op := range []Op{SendStreamingMessage, SubscribeToTask} {
				got, ended := v03Stream(c, op, tt.els...)
				if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w || ended != tt.ended {
					t.Errorf("%s with %s (ended: %v)\n%s\nwant\n%s", tt.name, op, ended, g, w)
				}
			}
		}
	}
}

func TestV03ReadsEvents(t *testing.T) {
	for doc, want := range map[string]string{
		`{"taskId":"t","contextId":"c","status":{"state":"working"},"final":false}`: `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`,
		`{"status_update":{"task_id":"t","context_id":"c","status":{"state":2,"update":{"message_id":"m","role":2,"content":[{"text":"x"}]}}}}`: `{"statusUpdate":{"taskId":"t","contextId":"c",` +
			`"status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}}}`,
		`{"taskId":"t","artifact":{"artifactId":"a","parts":[]},"last_chunk":true}`: `{"artifactUpdate":{"taskId":"t","contextId":"","artifact":{"artifactId":"a","parts":[]},"lastChunk":true}}`,
		`{"id":"t","status":{"state":"submitted"}}`:                                 `{"task":{"id":"t","status":{"state":"TASK_STATE_SUBMITTED"}}}`,
		`{"kind":"message","message":{},"messageId":"m","parts":[]}`:                `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}`,
		`{}`:                         ``,
		`{"kind":"heartbeat"}`:       ``,
		`{"error":{"code":-32603}}`:  ``,
		`{"kind":"task","id":5}`:     `error`,
		`[]`:                         `error`,
		`{"task":{"status":"done"}}`: `error`,
	} {
		for form, c := range v03Forms {
			els, err := c.DecodeEvent(SubscribeToTask, nil, []byte(doc))
			got := ""
			switch {
			case err != nil:
				got = "error"
			case len(els) > 0:
				got = string(els[0].AppendJSON(nil))
			}
			if got != want {
				t.Errorf("%s: %s becomes %s (%v)", form, doc, got, err)
			}
		}
	}
}
