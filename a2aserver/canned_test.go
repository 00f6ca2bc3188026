package a2aserver

import (
	"context"
	"slices"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

func cannedCard() *a2a.AgentCard {
	yes, no := true, false
	return &a2a.AgentCard{
		Name: "Canned", Description: "Answers from a tin.", Version: "1.2.3",
		SupportedInterfaces: []*a2a.AgentInterface{
			{URL: "https://canned.example.org", ProtocolBinding: a2a.BindingJSONRPC, ProtocolVersion: "1.0"},
			{URL: "https://canned.example.org", ProtocolBinding: a2a.BindingHTTPJSON, ProtocolVersion: "1.0"},
		},
		Capabilities: a2a.AgentCapabilities{
			Streaming: &yes, PushNotifications: &no,
			Extensions: []*a2a.AgentExtension{{URI: "https://example.org/ext/geo/v1", Required: false}},
		},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []*a2a.AgentSkill{{ID: "s", Name: "Say", Description: "Says it.", Tags: []string{"text"}}},
	}
}

// canned answers as the specification says, from two tasks that never change:
// t-working, with the log of an artifact, and t-done.
type canned struct{ a2a.Unimplemented }

var cannedTime = time.Date(2026, 3, 12, 10, 0, 0, 123e6, time.UTC)

func cannedTask(id string, state a2a.TaskState) *a2a.Task {
	return &a2a.Task{ID: id, ContextID: "c1", Status: a2a.TaskStatus{State: state, Timestamp: cannedTime}}
}

func doneTask() *a2a.Task {
	t := cannedTask("t-done", a2a.TaskStateCompleted)
	t.Artifacts = []*a2a.Artifact{{ArtifactID: "a1", Name: "answer", Parts: []*a2a.Part{
		a2a.TextPart("42"), a2a.DataPart(a2a.JSON(`{"n":12345678901234567890,"x":null}`)),
	}}}
	t.History = []*a2a.Message{{MessageID: "m0", ContextID: "c1", TaskID: "t-done", Role: a2a.RoleUser, Parts: []*a2a.Part{a2a.TextPart("?")}}}
	return t
}

func notFound(id string) error {
	return &a2a.Error{Code: a2a.CodeTaskNotFound, Message: "there is no task " + id, Meta: map[string]string{"taskId": id}}
}

func find(id string) (*a2a.Task, error) {
	switch id {
	case "t-working":
		return cannedTask(id, a2a.TaskStateWorking), nil
	case "t-done":
		return doneTask(), nil
	}
	return nil, notFound(id)
}

func (canned) admit(req *a2a.SendMessageRequest) error {
	if err := req.Validate(); err != nil {
		return err
	}
	if id := req.Message.TaskID; id != "" {
		t, err := find(id)
		if err != nil {
			return err
		}
		if t.Status.State.Terminal() {
			return &a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: "the task is finished; start a new one", Meta: map[string]string{"taskId": id}}
		}
	}
	return nil
}

func (c canned) SendMessage(_ context.Context, req *a2a.SendMessageRequest) (*a2a.SendMessageResponse, error) {
	if err := c.admit(req); err != nil {
		return nil, err
	}
	if req.Message.Text() == "hello" {
		return &a2a.SendMessageResponse{Message: hello()}, nil
	}
	return &a2a.SendMessageResponse{Task: doneTask()}, nil
}

func hello() *a2a.Message {
	return &a2a.Message{MessageID: "m9", ContextID: "c1", Role: a2a.RoleAgent, Parts: []*a2a.Part{a2a.TextPart("hello you")}}
}

func (c canned) SendStreamingMessage(_ context.Context, req *a2a.SendMessageRequest) elements {
	if err := c.admit(req); err != nil {
		return yields(err)
	}
	if req.Message.Text() == "hello" {
		return yields(&a2a.StreamResponse{Message: hello()})
	}
	return yields(cannedLog(0)...)
}

// cannedLog is the stream of t-working from seq after on.
func cannedLog(after int64) []any {
	chunk := func(seq int64, text string, more bool) any {
		return &a2a.StreamResponse{Seq: seq, ArtifactUpdate: &a2a.TaskArtifactUpdateEvent{
			TaskID: "t-working", ContextID: "c1", Append: seq > 4, LastChunk: !more,
			Artifact: &a2a.Artifact{ArtifactID: "a1", Parts: []*a2a.Part{a2a.TextPart(text)}},
		}}
	}
	status := &a2a.StreamResponse{Seq: 6, StatusUpdate: &a2a.TaskStatusUpdateEvent{
		TaskID: "t-working", ContextID: "c1", Status: a2a.TaskStatus{State: a2a.TaskStateCompleted, Timestamp: cannedTime},
	}}
	log := []any{chunk(4, "4", true), chunk(5, "2", false), status}
	return append([]any{&a2a.StreamResponse{Seq: max(3, after), Task: cannedTask("t-working", a2a.TaskStateWorking)}}, log[max(0, after-3):]...)
}

func (canned) SubscribeToTask(_ context.Context, req *a2a.SubscribeToTaskRequest) elements {
	t, err := find(req.ID)
	switch {
	case err != nil:
		return yields(err)
	case t.Status.State.Terminal():
		return yields(&a2a.Error{Code: a2a.CodeUnsupportedOperation, Message: "the task is finished; get it", Meta: map[string]string{"taskId": req.ID}})
	}
	return yields(cannedLog(req.After)...)
}

func (canned) GetTask(_ context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	t, err := find(req.ID)
	if err == nil && req.HistoryLength != nil && *req.HistoryLength == 0 {
		t.History = nil
	}
	return t, err
}

func (canned) ListTasks(_ context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	res := &a2a.ListTasksResponse{PageSize: 50}
	for _, t := range []*a2a.Task{doneTask(), cannedTask("t-working", a2a.TaskStateWorking)} {
		if req.ContextID != "" && req.ContextID != t.ContextID || req.Status.Valid() && req.Status != t.Status.State {
			continue
		}
		t.History = nil
		if !req.IncludeArtifacts {
			t.Artifacts = nil
		}
		res.Tasks = append(res.Tasks, t)
	}
	res.TotalSize = int32(len(res.Tasks))
	if req.PageSize != nil && int(*req.PageSize) < len(res.Tasks) {
		res.Tasks, res.NextPageToken = slices.Clip(res.Tasks[:*req.PageSize]), "next"
	}
	if req.PageSize != nil {
		res.PageSize = *req.PageSize
	}
	return res, nil
}

func (canned) CancelTask(_ context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	t, err := find(req.ID)
	if err != nil {
		return nil, err
	}
	if t.Status.State.Terminal() {
		return nil, &a2a.Error{Code: a2a.CodeTaskNotCancelable, Message: "the task is completed", Meta: map[string]string{"taskId": req.ID}}
	}
	t.Status.State = a2a.TaskStateCanceled
	return t, nil
}

func (canned) CreateTaskPushNotificationConfig(context.Context, *a2a.TaskPushNotificationConfig) (*a2a.TaskPushNotificationConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

func (canned) GetTaskPushNotificationConfig(context.Context, *a2a.GetTaskPushNotificationConfigRequest) (*a2a.TaskPushNotificationConfig, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

func (canned) ListTaskPushNotificationConfigs(context.Context, *a2a.ListTaskPushNotificationConfigsRequest) (*a2a.ListTaskPushNotificationConfigsResponse, error) {
	return nil, a2a.ErrPushNotificationNotSupported
}

func (canned) DeleteTaskPushNotificationConfig(context.Context, *a2a.DeleteTaskPushNotificationConfigRequest) error {
	return a2a.ErrPushNotificationNotSupported
}

func (canned) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, a2a.ErrUnsupportedOperation
}
