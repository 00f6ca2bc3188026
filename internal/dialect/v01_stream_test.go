package dialect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

var someTime = time.Date(2026, 3, 12, 10, 0, 0, 123e6, time.UTC)

// written returns the events for elements, until the writer returns the last one.
func written(e Events, els ...*a2a.StreamResponse) (docs []string) {
	for _, el := range els {
		for i, more := 0, true; more; i++ {
			var doc []byte
			if doc, more = e.Append(nil, el, i); len(doc) > 0 {
				docs = append(docs, string(doc))
			}
		}
		if e.Ended() {
			break
		}
	}
	return docs
}

func chunk(id, text string, more bool) *a2a.StreamResponse {
	return &a2a.StreamResponse{ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
		TaskID: "t1", ContextID: "c1", Append: more, Artifact: &a2a.Artifact{ArtifactID: id, Parts: []*a2a.Part{a2a.TextPart(text)}},
	}}
}

func status(s a2a.TaskState) *a2a.StreamResponse {
	return &a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: s}}}
}

func taskIn(s a2a.TaskState, artifacts ...string) *a2a.StreamResponse {
	t := &a2a.Task{ID: "t1", ContextID: "c1", Version: "0.1", Status: a2a.TaskStatus{State: s}, History: []*a2a.Message{said("1", a2a.RoleUser, "do")}}
	for _, id := range artifacts {
		t.Artifacts = append(t.Artifacts, &a2a.Artifact{ArtifactID: id, Parts: []*a2a.Part{a2a.TextPart("whole")}})
	}
	return &a2a.StreamResponse{Task: t}
}

func v01Chunk(id string, index int, text, rest string) string {
	return fmt.Sprintf(`{"id":"t1","artifact":{"parts":[{"type":"text","text":%q}],"index":%d%s,"metadata":{"artifactId":%q}}}`, text, index, rest, id)
}

func v01Says(state string, final bool) string {
	return fmt.Sprintf(`{"id":"t1","status":{"state":%q},"final":%v}`, state, final)
}

func TestV01Streams(t *testing.T) {
	send := &a2a.SendMessageRequest{Message: said("1", a2a.RoleUser, "do")}
	sub, resumed := &a2a.SubscribeToTaskRequest{ID: "t1"}, &a2a.SubscribeToTaskRequest{ID: "t1", After: 7}
	question := taskIn(a2a.TaskStateInputRequired, "a")
	question.Task.Status.Message = said("2", a2a.RoleAgent, "?")
	const says = `{"id":"t1","status":{"state":"input-required","message":{"role":"agent","parts":[{"type":"text","text":"?"}]}},"final":`
	last := chunk("a", "3", true)
	last.ArtifactUpdate.LastChunk = true
	for _, tt := range []struct {
		name string
		req  any
		els  []*a2a.StreamResponse
		want []string
	}{
		{"004-24 to 004-30: a new task, by its chunks", send,
			[]*a2a.StreamResponse{taskIn(a2a.TaskStateSubmitted), status(a2a.TaskStateWorking), chunk("a", "1", false), chunk("a", "2", true), last, status(a2a.TaskStateCompleted)},
			[]string{v01Says("submitted", false), v01Says("working", false), v01Chunk("a", 0, "1", ""), v01Chunk("a", 0, "2", `,"append":true`),
				v01Chunk("a", 0, "3", `,"append":true,"lastChunk":true`), v01Says("completed", true)}},
		{"artifacts by turns keep their numbers, begun anew or not", send,
			[]*a2a.StreamResponse{taskIn(a2a.TaskStateWorking), chunk("x", "1", false), chunk("y", "1", false), chunk("x", "2", true), chunk("x", "0", false), chunk("y", "0", false), chunk("z", "1", true)},
			[]string{v01Says("working", false), v01Chunk("x", 0, "1", ""), v01Chunk("y", 1, "1", ""), v01Chunk("x", 0, "2", `,"append":true`),
				v01Chunk("x", 0, "0", ""), v01Chunk("y", 1, "0", ""), v01Chunk("z", 2, "1", `,"append":true`)}},
		{"004-33: going on with a running task, whose artifacts have their numbers", sub,
			[]*a2a.StreamResponse{taskIn(a2a.TaskStateWorking, "x", "y"), chunk("y", "2", true), chunk("z", "1", false), status(a2a.TaskStateFailed)},
			[]string{v01Says("working", false), v01Chunk("x", 0, "whole", ""), v01Chunk("y", 1, "whole", ""), v01Chunk("y", 1, "2", `,"append":true`), v01Chunk("z", 2, "1", ""), v01Says("failed", true)}},
		{"002-5: a finished task is notified and closed", sub, []*a2a.StreamResponse{taskIn(a2a.TaskStateCompleted, "x", "y"), status(a2a.TaskStateWorking)},
			[]string{v01Says("completed", true)}},
		{"what was sent to a task that is finished at once", send, []*a2a.StreamResponse{taskIn(a2a.TaskStateRejected, "x")},
			[]string{v01Chunk("x", 0, "whole", ""), v01Says("failed", true)}},
		{"004-32: a question ends the stream", send, []*a2a.StreamResponse{taskIn(a2a.TaskStateSubmitted), status(a2a.TaskStateInputRequired), status(a2a.TaskStateWorking)},
			[]string{v01Says("submitted", false), v01Says("input-required", true)}},
		{"the answer to it does not begin at its end", send, []*a2a.StreamResponse{taskIn(a2a.TaskStateInputRequired, "a"), status(a2a.TaskStateWorking), chunk("b", "1", false), status(a2a.TaskStateCompleted)},
			[]string{v01Says("input-required", false), v01Chunk("a", 0, "whole", ""), v01Says("working", false), v01Chunk("b", 1, "1", ""), v01Says("completed", true)}},
		{"whoever subscribes is asked", sub, []*a2a.StreamResponse{question, status(a2a.TaskStateWorking)},
			[]string{v01Chunk("a", 0, "whole", ""), says + `true}`}},
		{"unless the answer is on its way", sub, []*a2a.StreamResponse{taskIn(a2a.TaskStateInputRequired), status(a2a.TaskStateWorking)},
			[]string{v01Says("input-required", false), v01Says("working", false)}},
		{"or there is a rest to deliver", resumed, []*a2a.StreamResponse{question, status(a2a.TaskStateWorking)},
			[]string{says + `false}`, v01Chunk("a", 0, "whole", ""), v01Says("working", false)}},
		{"an authorization may come by another way", send, []*a2a.StreamResponse{taskIn(a2a.TaskStateWorking), status(a2a.TaskStateAuthRequired), status(a2a.TaskStateCompleted)},
			[]string{v01Says("working", false), v01Says("input-required", false), v01Says("completed", true)}},
		{"a Task in between", send, []*a2a.StreamResponse{taskIn(a2a.TaskStateSubmitted), chunk("y", "1", false), taskIn(a2a.TaskStateWorking, "x", "y"), chunk("y", "2", true)},
			[]string{v01Says("submitted", false), v01Chunk("y", 0, "1", ""), v01Says("working", false), v01Chunk("x", 0, "whole", ""), v01Chunk("y", 1, "whole", ""), v01Chunk("y", 1, "2", `,"append":true`)}},
		{"no Task at all", send, []*a2a.StreamResponse{chunk("y", "1", true), {}, status(a2a.TaskStateCanceled)},
			[]string{v01Chunk("y", 0, "1", `,"append":true`), v01Says("canceled", true)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			op := SendStreamingMessage
			if _, ok := tt.req.(*a2a.SubscribeToTaskRequest); ok {
				op = SubscribeToTask
			}
			got := written(v01Codec{}.Events(op, tt.req), tt.els...)
			if !slices.Equal(got, tt.want) {
				t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(tt.want, "\n     "))
			}
		})
	}
}

// A number is that of the same artifact in the answer to tasks/get, in the stream from
// the beginning, and in one that joined later.
func TestV01NumbersAgree(t *testing.T) {
	els := []*a2a.StreamResponse{
		taskIn(a2a.TaskStateSubmitted), chunk("x", "1", false), chunk("y", "1", false), chunk("x", "2", true), chunk("y", "0", false), chunk("z", "1", false), status(a2a.TaskStateCompleted),
	}
	whole := new(a2a.Task)
	for _, el := range els {
		whole.ApplyEvent(el)
	}
	get := &a2a.GetTaskRequest{ID: "t1"}
	want := readV01Task(t, GetTask, get, string(v01Codec{}.AppendResult(nil, GetTask, get, whole)))
	for at := range els[1:] {
		seen := new(a2a.Task)
		for _, el := range els[:at+1] {
			seen.ApplyEvent(el)
		}
		e := v01Codec{}.Events(SubscribeToTask, &a2a.SubscribeToTaskRequest{ID: "t1"})
		got := new(a2a.Task)
		for _, doc := range written(e, append([]*a2a.StreamResponse{{Task: seen.Snapshot()}}, els[at+1:]...)...) {
			doc = strings.ReplaceAll(doc, `"artifactId"`, `"x"`) // only the numbers are left
			for _, el := range readV01Events(t, doc) {
				got.ApplyEvent(el)
			}
		}
		for i, a := range got.Artifacts {
			if b := want.Artifacts[i]; a.ArtifactID != fmt.Sprint("index-", i) || len(a.Parts) != len(b.Parts) || a.Parts[0].Text != b.Parts[0].Text {
				t.Errorf("joined behind element %d: artifact %d is %s, want %s", at, i, a.AppendJSON(nil), b.AppendJSON(nil))
			}
		}
		if len(got.Artifacts) != len(want.Artifacts) {
			t.Errorf("joined behind element %d: %d artifacts", at, len(got.Artifacts))
		}
	}
}
