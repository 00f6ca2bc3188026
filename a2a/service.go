package a2a

import (
	"context"
	"iter"
)

// Service is the protocol's eleven operations (specification §3.1). The engine
// implements it over a store and a2aclient over a network; a2aserver serves it to a
// network. All methods may be called concurrently. The callee does not change requests,
// so they may be shared; results belong to the caller unless their type says otherwise.
//
// Errors are *Error, or errors that a caller should treat as internal; a context's
// error is returned unchanged. The caller's identity travels in the context, see
// CallerFrom.
//
// A stream yields elements until the task is terminal or waits for input, or until an
// error, which is its last pair. It may be ranged over once; leaving the loop releases
// everything and never affects the task.
type Service interface {
	// SendMessage (§3.1.1) starts or continues an interaction and, unless the
	// configuration says ReturnImmediately, blocks until the task is terminal
	// or interrupted. If ctx ends first, the task goes on.
	SendMessage(ctx context.Context, req *SendMessageRequest) (*SendMessageResponse, error)
	// SendStreamingMessage (§3.1.2) is SendMessage with every event as it is committed.
	// The first element is a Task, or the only one a Message.
	SendStreamingMessage(ctx context.Context, req *SendMessageRequest) iter.Seq2[*StreamResponse, error]
	// GetTask (§3.1.3) returns a task of the caller. A task that the caller may not
	// see is TaskNotFound, as for all operations that name a task.
	GetTask(ctx context.Context, req *GetTaskRequest) (*Task, error)
	// ListTasks (§3.1.4) returns a page of the caller's tasks, last updated first.
	ListTasks(ctx context.Context, req *ListTasksRequest) (*ListTasksResponse, error)
	// CancelTask (§3.1.5) returns the task once it is canceled. Canceling a canceled
	// task returns it; any other terminal state is TaskNotCancelable.
	CancelTask(ctx context.Context, req *CancelTaskRequest) (*Task, error)
	// SubscribeToTask (§3.1.6) yields the Task as it stands and then every later event
	// until it is terminal. See SubscribeToTaskRequest.After for resuming. Without After,
	// a task that is terminal already is UnsupportedOperation: use GetTask.
	SubscribeToTask(ctx context.Context, req *SubscribeToTaskRequest) iter.Seq2[*StreamResponse, error]
	// CreateTaskPushNotificationConfig (§3.1.7) adds a webhook to a task, or replaces
	// the one with its id, and returns it with its id. If the server has no webhooks,
	// it and the next three return PushNotificationNotSupported.
	CreateTaskPushNotificationConfig(ctx context.Context, req *TaskPushNotificationConfig) (*TaskPushNotificationConfig, error)
	// GetTaskPushNotificationConfig (§3.1.8) returns one webhook of a task.
	GetTaskPushNotificationConfig(ctx context.Context, req *GetTaskPushNotificationConfigRequest) (*TaskPushNotificationConfig, error)
	// ListTaskPushNotificationConfigs (§3.1.9) returns a page of a task's webhooks.
	ListTaskPushNotificationConfigs(ctx context.Context, req *ListTaskPushNotificationConfigsRequest) (*ListTaskPushNotificationConfigsResponse, error)
	// DeleteTaskPushNotificationConfig (§3.1.10) is idempotent as long as the task exists.
	DeleteTaskPushNotificationConfig(ctx context.Context, req *DeleteTaskPushNotificationConfigRequest) error
	// GetExtendedAgentCard (§3.1.11) returns the card for this caller. An agent whose
	// card does not announce one returns UnsupportedOperation, one that has none for
	// the caller ExtendedAgentCardNotConfigured.
	GetExtendedAgentCard(ctx context.Context, req *GetExtendedAgentCardRequest) (*AgentCard, error)
}

// Unimplemented answers every operation with UnsupportedOperation. Embed it in
// a Service so that operations of later protocol versions do not break it.
type Unimplemented struct{}

var _ Service = Unimplemented{}

func unimplemented() error {
	return &Error{Code: CodeUnsupportedOperation, Message: "this operation is not supported"}
}

func unimplementedStream() iter.Seq2[*StreamResponse, error] {
	return func(yield func(*StreamResponse, error) bool) { yield(nil, unimplemented()) }
}

func (Unimplemented) SendMessage(context.Context, *SendMessageRequest) (*SendMessageResponse, error) {
	return nil, unimplemented()
}

func (Unimplemented) SendStreamingMessage(context.Context, *SendMessageRequest) iter.Seq2[*StreamResponse, error] {
	return unimplementedStream()
}

func (Unimplemented) GetTask(context.Context, *GetTaskRequest) (*Task, error) {
	return nil, unimplemented()
}

func (Unimplemented) ListTasks(context.Context, *ListTasksRequest) (*ListTasksResponse, error) {
	return nil, unimplemented()
}

func (Unimplemented) CancelTask(context.Context, *CancelTaskRequest) (*Task, error) {
	return nil, unimplemented()
}

func (Unimplemented) SubscribeToTask(context.Context, *SubscribeToTaskRequest) iter.Seq2[*StreamResponse, error] {
	return unimplementedStream()
}

func (Unimplemented) CreateTaskPushNotificationConfig(context.Context, *TaskPushNotificationConfig) (*TaskPushNotificationConfig, error) {
	return nil, unimplemented()
}

func (Unimplemented) GetTaskPushNotificationConfig(context.Context, *GetTaskPushNotificationConfigRequest) (*TaskPushNotificationConfig, error) {
	return nil, unimplemented()
}

func (Unimplemented) ListTaskPushNotificationConfigs(context.Context, *ListTaskPushNotificationConfigsRequest) (*ListTaskPushNotificationConfigsResponse, error) {
	return nil, unimplemented()
}

func (Unimplemented) DeleteTaskPushNotificationConfig(context.Context, *DeleteTaskPushNotificationConfigRequest) error {
	return unimplemented()
}

func (Unimplemented) GetExtendedAgentCard(context.Context, *GetExtendedAgentCardRequest) (*AgentCard, error) {
	return nil, unimplemented()
}
