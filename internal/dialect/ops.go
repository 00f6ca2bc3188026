package dialect

import (
	"context"
	"iter"

	"github.com/parley-a2a/parley/a2a"
)

// Op is one of the protocol's eleven operations.
type Op uint8

const (
	SendMessage Op = 1 + iota
	SendStreamingMessage
	GetTask
	ListTasks
	CancelTask
	SubscribeToTask
	CreateTaskPushNotificationConfig
	GetTaskPushNotificationConfig
	ListTaskPushNotificationConfigs
	DeleteTaskPushNotificationConfig
	GetExtendedAgentCard
)

// Operation is a row of the operation table: what one operation is called in
// each binding of each dialect. Servers and clients loop over Operations; a
// new dialect is a column.
type Operation struct {
	Op      Op
	Streams bool
	Methods Methods // JSON-RPC; those of 1.0 are gRPC's, too
	Routes  Routes  // HTTP+JSON; the first of a dialect is the one clients use
}

// Methods are an operation's names by dialect; "" where it has none.
type Methods [dialects]string

// Routes are an operation's routes by dialect.
type Routes [dialects][]Route

// Route is an HTTP method with a path template below the interface's URL. A
// segment is a literal or {field}; the last one may carry a :verb, as in
// "/tasks/{id}:cancel". In version 1 each route also exists below /{tenant}.
type Route struct {
	Method string
	Path   string
	Body   bool // the request is the body; otherwise fields are query parameters
}

// operation makes a row. The names are those of 0.1, 0.3 and 1.0; routes of 0.3 are
// those of 1.0 below /v1 where nothing else is said.
func operation(op Op, streams bool, v01, v03, v10 string, routes ...Route) Operation {
	o := Operation{Op: op, Streams: streams, Methods: Methods{V01: v01, V03: v03, V10: v10, V11: v10}}
	o.Routes[V10], o.Routes[V11] = routes, routes
	for _, r := range routes {
		r.Path = "/v1" + r.Path
		o.Routes[V03] = append(o.Routes[V03], r)
	}
	return o
}

// with replaces the routes of version 0.3.
func (o Operation) with(routes ...Route) Operation {
	o.Routes[V03] = routes
	return o
}

// Operations is the table, in the order of the specification's §5.3.
var Operations = []Operation{
	operation(SendMessage, false, "tasks/send", "message/send", "SendMessage",
		Route{"POST", "/message:send", true}),
	operation(SendStreamingMessage, true, "tasks/sendSubscribe", "message/stream", "SendStreamingMessage",
		Route{"POST", "/message:stream", true}),
	operation(GetTask, false, "tasks/get", "tasks/get", "GetTask",
		Route{"GET", "/tasks/{id}", false}),
	operation(ListTasks, false, "", "tasks/list", "ListTasks", // 0.3 has it in text only; a2a-go sends it
		Route{"GET", "/tasks", false}),
	operation(CancelTask, false, "tasks/cancel", "tasks/cancel", "CancelTask",
		Route{"POST", "/tasks/{id}:cancel", true}),
	// The text says POST, the proto GET: both are served (DIALECTS A1).
	operation(SubscribeToTask, true, "tasks/resubscribe", "tasks/resubscribe", "SubscribeToTask",
		Route{"POST", "/tasks/{id}:subscribe", true}, Route{"GET", "/tasks/{id}:subscribe", false}),
	operation(CreateTaskPushNotificationConfig, false, "tasks/pushNotification/set", "tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig",
		Route{"POST", "/tasks/{taskId}/pushNotificationConfigs", true}),
	operation(GetTaskPushNotificationConfig, false, "tasks/pushNotification/get", "tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig",
		Route{"GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", false}),
	operation(ListTaskPushNotificationConfigs, false, "", "tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs",
		Route{"GET", "/tasks/{taskId}/pushNotificationConfigs", false}),
	operation(DeleteTaskPushNotificationConfig, false, "", "tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig",
		Route{"DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", false}),
	operation(GetExtendedAgentCard, false, "", "agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard",
		Route{"GET", "/extendedAgentCard", false}).with(Route{"GET", "/v1/card", false}),
}

// Get returns the table's row for an operation.
func Get(op Op) *Operation { return &Operations[op-1] }

// String returns the v1.0 name.
func (op Op) String() string {
	if op < 1 || int(op) > len(Operations) {
		return "Op(0)"
	}
	return Operations[op-1].Methods[V10]
}

// Call performs a unary operation. req must be of the operation's request
// type; the result is of its response type, nil for a delete.
func Call(ctx context.Context, s a2a.Service, op Op, req any) (any, error) {
	switch op {
	case SendMessage:
		return result(s.SendMessage(ctx, req.(*a2a.SendMessageRequest)))
	case GetTask:
		return result(s.GetTask(ctx, req.(*a2a.GetTaskRequest)))
	case ListTasks:
		return result(s.ListTasks(ctx, req.(*a2a.ListTasksRequest)))
	case CancelTask:
		return result(s.CancelTask(ctx, req.(*a2a.CancelTaskRequest)))
	case CreateTaskPushNotificationConfig:
		return result(s.CreateTaskPushNotificationConfig(ctx, req.(*a2a.TaskPushNotificationConfig)))
	case GetTaskPushNotificationConfig:
		return result(s.GetTaskPushNotificationConfig(ctx, req.(*a2a.GetTaskPushNotificationConfigRequest)))
	case ListTaskPushNotificationConfigs:
		return result(s.ListTaskPushNotificationConfigs(ctx, req.(*a2a.ListTaskPushNotificationConfigsRequest)))
	case DeleteTaskPushNotificationConfig:
		return nil, s.DeleteTaskPushNotificationConfig(ctx, req.(*a2a.DeleteTaskPushNotificationConfigRequest))
	case GetExtendedAgentCard:
		return result(s.GetExtendedAgentCard(ctx, req.(*a2a.GetExtendedAgentCardRequest)))
	}
	panic("dialect: Call of " + op.String())
}

// Stream performs a streaming operation.
func Stream(ctx context.Context, s a2a.Service, op Op, req any) iter.Seq2[*a2a.StreamResponse, error] {
	switch op {
	case SendStreamingMessage:
		return s.SendStreamingMessage(ctx, req.(*a2a.SendMessageRequest))
	case SubscribeToTask:
		return s.SubscribeToTask(ctx, req.(*a2a.SubscribeToTaskRequest))
	}
	panic("dialect: Stream of " + op.String())
}

// NewRequest returns an empty request of the operation's type.
func NewRequest(op Op) any {
	switch op {
	case SendMessage, SendStreamingMessage:
		return new(a2a.SendMessageRequest)
	case GetTask:
		return new(a2a.GetTaskRequest)
	case ListTasks:
		return new(a2a.ListTasksRequest)
	case CancelTask:
		return new(a2a.CancelTaskRequest)
	case SubscribeToTask:
		return new(a2a.SubscribeToTaskRequest)
	case CreateTaskPushNotificationConfig:
		return new(a2a.TaskPushNotificationConfig)
	case GetTaskPushNotificationConfig:
		return new(a2a.GetTaskPushNotificationConfigRequest)
	case ListTaskPushNotificationConfigs:
		return new(a2a.ListTaskPushNotificationConfigsRequest)
	case DeleteTaskPushNotificationConfig:
		return new(a2a.DeleteTaskPushNotificationConfigRequest)
	case GetExtendedAgentCard:
		return new(a2a.GetExtendedAgentCardRequest)
	}
	panic("dialect: NewRequest of " + op.String())
}

// NewResult returns an empty result of a unary operation's type, or a
// *a2a.StreamResponse for a streaming one; nil for a delete.
func NewResult(op Op) any {
	switch op {
	case SendMessage:
		return new(a2a.SendMessageResponse)
	case SendStreamingMessage, SubscribeToTask:
		return new(a2a.StreamResponse)
	case GetTask, CancelTask:
		return new(a2a.Task)
	case ListTasks:
		return new(a2a.ListTasksResponse)
	case CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig:
		return new(a2a.TaskPushNotificationConfig)
	case ListTaskPushNotificationConfigs:
		return new(a2a.ListTaskPushNotificationConfigsResponse)
	case DeleteTaskPushNotificationConfig:
		return nil
	case GetExtendedAgentCard:
		return new(a2a.AgentCard)
	}
	panic("dialect: NewResult of " + op.String())
}

// result keeps a nil pointer from becoming a non-nil any.
func result[T any](v *T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
