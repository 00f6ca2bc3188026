package dialect

import (
	"encoding/json"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

func said(id string, role a2a.Role, text string) *a2a.Message {
	return &a2a.Message{MessageID: id, TaskID: "t1", ContextID: "c1", Role: role, Parts: []*a2a.Part{a2a.TextPart(text)}}
}

func asked() *a2a.Task {
	return &a2a.Task{
		ID: "t1", ContextID: "c1", Generation: 4, Version: "0.1",
		Status:  a2a.TaskStatus{State: a2a.TaskStateInputRequired, Message: said("3", a2a.RoleAgent, "which?")},
		History: []*a2a.Message{said("1", a2a.RoleUser, "do"), said("2", a2a.RoleAgent, "well")},
	}
}

// 000-3, 000-9, 004-11, 004-12, C3 and C4: there is no history unless it is requested,
// and then it ends with the message of the status.
func TestV01History(t *testing.T) {
	const head = `{"id":"t1","sessionId":"c1","status":{"state":"input-required","message":{"role":"agent","parts":[{"type":"text","text":"which?"}]}}`
	const do, well, which = `{"role":"user","parts":[{"type":"text","text":"do"}]}`,
		`{"role":"agent","parts":[{"type":"text","text":"well"}]}`, `{"role":"agent","parts":[{"type":"text","text":"which?"}]}`
	moved := asked() // by a service that keeps the words in both places
	moved.History = append(moved.History, moved.Status.Message)
	silent := asked()
	silent.Status.Message = nil
	for _, tt := range []struct {
		name string
		task *a2a.Task
		n    int32
		want string
	}{
		{"absent", asked(), -99, head + `}`},
		{"0", asked(), 0, head + `}`},
		{"negative", asked(), -1, head + `}`},
		{"1", asked(), 1, head + `,"history":[` + which + `]}`},
		{"2", asked(), 2, head + `,"history":[` + well + `,` + which + `]}`},
		{"more than there is", asked(), 100, head + `,"history":[` + do + `,` + well + `,` + which + `]}`},
		{"not twice", moved, 100, head + `,"history":[` + do + `,` + well + `,` + which + `]}`},
		{"no words", silent, 1, `{"id":"t1","sessionId":"c1","status":{"state":"input-required"},"history":[` + well + `]}`},
	} {
		n := &tt.n
		if tt.n == -99 {
			n = nil
		}
		get := string(v01Codec{}.AppendResult(nil, GetTask, &a2a.GetTaskRequest{ID: "t1", HistoryLength: n}, tt.task))
		if get != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, get, tt.want)
		}
		send := &a2a.SendMessageRequest{Message: said("1", a2a.RoleUser, "do"), Configuration: &a2a.SendMessageConfiguration{HistoryLength: n}}
		if got := string(v01Codec{}.AppendResult(nil, SendMessage, send, &a2a.SendMessageResponse{Task: tt.task})); got != tt.want {
			t.Errorf("%s, sending:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
	if len(asked().History) != 2 || len(moved.History) != 3 {
		t.Error("writing changed the task")
	}
}

// The client removes the message of the status from the history again.
func TestV01HistoryComesBack(t *testing.T) {
	n := int32(10)
	req := &a2a.GetTaskRequest{ID: "t1", HistoryLength: &n}
	doc := v01Codec{}.AppendResult(nil, GetTask, req, asked())
	got := readV01Task(t, GetTask, req, string(doc))
	if len(got.History) != 2 || got.History[1].Text() != "well" || got.Status.Message.Text() != "which?" {
		t.Errorf("read as %s", got.AppendJSON(nil))
	}
}

// States that 0.1 does not have; final is where the stream ends (002-1,
// 004-30, 004-32).
func TestV01States(t *testing.T) {
	for _, tt := range []struct {
		state a2a.TaskState
		name  string
		final bool
	}{
		{a2a.TaskStateUnspecified, "unknown", false},
		{a2a.TaskStateSubmitted, "submitted", false},
		{a2a.TaskStateWorking, "working", false},
		{a2a.TaskStateCompleted, "completed", true},
		{a2a.TaskStateFailed, "failed", true},
		{a2a.TaskStateCanceled, "canceled", true},
		{a2a.TaskStateInputRequired, "input-required", true},
		{a2a.TaskStateRejected, "failed", true},
		{a2a.TaskStateAuthRequired, "input-required", false}, // it may go on by itself
	} {
		final := "false"
		if tt.final {
			final = "true"
		}
		e := v01Codec{}.Events(SubscribeToTask, &a2a.SubscribeToTaskRequest{ID: "t1"})
		doc, more := e.Append(nil, &a2a.StreamResponse{StatusUpdate: &a2a.TaskStatusUpdateEvent{
			TaskID: "t1", ContextID: "c1", Status: a2a.TaskStatus{State: tt.state}, Metadata: a2a.JSON(`{"a":1}`), Generation: 3,
		}}, 0)
		if want := `{"id":"t1","status":{"state":"` + tt.name + `"},"final":` + final + `,"metadata":{"a":1}}`; string(doc) != want || more || e.Ended() != tt.final {
			t.Errorf("%v: %s, more %v, ended %v", tt.state, doc, more, e.Ended())
		}
	}
}

func TestV01Task(t *testing.T) {
	task := &a2a.Task{
		ID: "t1", ContextID: "c1", Metadata: a2a.JSON(`{"k":null}`), Generation: 9,
		Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Timestamp: someTime},
		Artifacts: []*a2a.Artifact{
			{ArtifactID: "a", Name: "n<1>", Description: "d", Metadata: a2a.JSON(`{"artifactId":"other","z":1}`), Extensions: []string{"x:1"}, Parts: []*a2a.Part{
				{Kind: a2a.PartText, Text: "<é&>", MediaType: "text/markdown", Metadata: a2a.JSON(`{"p":1}`)},
				{Kind: a2a.PartRaw, Raw: []byte{1, 2}, MediaType: "image/png", Filename: "f.png"},
				{Kind: a2a.PartRaw},
				{Kind: a2a.PartURL, URL: "https://x.org/?a&b"},
			}},
			{ArtifactID: "b", Parts: []*a2a.Part{a2a.DataPart(a2a.JSON(`{"n":12345678901234567890}`)), a2a.DataPart(a2a.JSON(`[1]`)), a2a.DataPart(a2a.JSON(`null`))}},
		},
	}
	const want = `{"id":"t1","sessionId":"c1","status":{"state":"completed","timestamp":"2026-03-12T10:00:00.123Z"},"artifacts":[` +
		`{"name":"n<1>","description":"d","parts":[{"type":"text","text":"<é&>","metadata":{"mimeType":"text/markdown","p":1}},` +
		`{"type":"file","file":{"name":"f.png","mimeType":"image/png","bytes":"AQI="}},{"type":"file","file":{"bytes":""}},{"type":"file","file":{"uri":"https://x.org/?a&b"}}],` +
		`"index":0,"metadata":{"artifactId":"a","z":1}},` +
		`{"parts":[{"type":"data","data":{"n":12345678901234567890}},{"type":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}},` +
		`{"type":"data","data":{"value":null},"metadata":{"data_part_compat":true}}],"index":1,"metadata":{"artifactId":"b"}}],"metadata":{"k":null}}`
	if got := string(v01Codec{}.AppendResult(nil, CancelTask, &a2a.CancelTaskRequest{ID: "t1"}, task)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// A direct answer becomes a completed task, for services that give one although 0.1 has
// none.
func TestV01DirectAnswer(t *testing.T) {
	req := &a2a.SendMessageRequest{Message: said("1", a2a.RoleUser, "do")}
	answer := &a2a.Message{MessageID: "2", ContextID: "c1", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("done")}}
	const words = `"status":{"state":"completed","message":{"role":"agent","parts":[{"type":"text","text":"done"}]}}`
	if got := string(v01Codec{}.AppendResult(nil, SendMessage, req, &a2a.SendMessageResponse{Message: answer})); got != `{"id":"t1","sessionId":"c1",`+words+`}` {
		t.Error(got)
	}
	e := v01Codec{}.Events(SendStreamingMessage, req)
	if doc, more := e.Append(nil, &a2a.StreamResponse{Message: answer}, 0); string(doc) != `{"id":"t1",`+words+`,"final":true}` || more || !e.Ended() {
		t.Errorf("%s, more %v, ended %v", doc, more, e.Ended())
	}
}

// Members that a program forgot do not make the rest unreadable.
func TestV01WritesWhatIsMissing(t *testing.T) {
	get := &a2a.GetTaskRequest{ID: "t1", HistoryLength: new(int32)}
	*get.HistoryLength = 9
	hollow := &a2a.Task{
		Status:    a2a.TaskStatus{Message: &a2a.Message{Parts: []*a2a.Part{nil, {}}}},
		Artifacts: []*a2a.Artifact{nil, {Parts: []*a2a.Part{{Kind: a2a.PartData}}}}, History: []*a2a.Message{nil},
	}
	var c v01Codec
	for what, doc := range map[string][]byte{
		"no task":        c.AppendResult(nil, SendMessage, v01Ask(), &a2a.SendMessageResponse{}),
		"a hollow task":  c.AppendResult(nil, GetTask, get, hollow),
		"no message":     c.AppendRequest(nil, SendMessage, &a2a.SendMessageRequest{}),
		"an odd webhook": c.AppendRequest(nil, CreateTaskPushNotificationConfig, &a2a.TaskPushNotificationConfig{Authentication: &a2a.AuthenticationInfo{}}),
		"a hollow event": []byte(written(c.Events(SendStreamingMessage, v01Ask()), &a2a.StreamResponse{Task: hollow})[1]),
	} {
		if !json.Valid(doc) {
			t.Errorf("%s: %s", what, doc)
		}
	}
}

// Operations that 0.1 lacks never reach its codec: their names are unknown.
func TestV01LacksOperations(t *testing.T) {
	for _, op := range []Op{ListTasks, DeleteTaskPushNotificationConfig, ListTaskPushNotificationConfigs, GetExtendedAgentCard} {
		if V01.Has(op) || CodecOf(V01, a2a.BindingJSONRPC) == nil || CodecOf(V01, a2a.BindingHTTPJSON) != nil {
			t.Errorf("0.1 has %v", op)
		}
	}
}
