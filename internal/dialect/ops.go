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

// Operation is a row of the operation table: the names of one operation in each binding
// of each dialect, its request and its result. Servers and clients loop over
// Operations; a new dialect is a column.
type Operation struct {
	Op      Op
	Streams bool
	Silent  bool    // it has no result
	Creates bool    // repeated, it makes two of something
	Methods Methods // JSON-RPC; those of 1.0 are gRPC's, too
	Routes  Routes  // HTTP+JSON; the first of a dialect is the one clients use
	shape
}

// Methods are an operation's names by dialect; "" if it has none.
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
// those of 1.0 below /v1, unless with replaces them.
func operation(op Op, is shape, v01, v03, v10 string, routes ...Route) Operation {
	o := Operation{Op: op, Streams: is.stream != nil, Silent: is.newResult == nil, Methods: Methods{V01: v01, V03: v03, V10: v10, V11: v10}, shape: is}
	o.Routes[V10], o.Routes[V11] = routes, routes
	for _, r := range routes {
		r.Path = "/v1" + r.Path
		o.Routes[V03] = append(o.Routes[V03], r)
	}
	return o
}

// creating marks an operation whose every request makes something.
func (o Operation) creating() Operation {
	o.Creates = true
	return o
}

// with replaces the routes of version 0.3.
func (o Operation) with(routes ...Route) Operation {
	o.Routes[V03] = routes
	return o
}

// Operations is the table, in the order of the specification's §5.3.
var Operations = []Operation{
	operation(SendMessage, unary(a2a.Service.SendMessage), "tasks/send", "message/send", "SendMessage",
		Route{"POST", "/message:send", true}).creating(),
	operation(SendStreamingMessage, streaming(a2a.Service.SendStreamingMessage), "tasks/sendSubscribe", "message/stream", "SendStreamingMessage",
		Route{"POST", "/message:stream", true}).creating(),
	operation(GetTask, unary(a2a.Service.GetTask), "tasks/get", "tasks/get", "GetTask",
		Route{"GET", "/tasks/{id}", false}),
	operation(ListTasks, unary(a2a.Service.ListTasks), "", "tasks/list", "ListTasks", // 0.3 has it in text only; a2a-go sends it
		Route{"GET", "/tasks", false}),
	operation(CancelTask, unary(a2a.Service.CancelTask), "tasks/cancel", "tasks/cancel", "CancelTask",
		Route{"POST", "/tasks/{id}:cancel", true}),
	// The text says POST, the proto GET: both are served (DIALECTS A1).
	operation(SubscribeToTask, streaming(a2a.Service.SubscribeToTask), "tasks/resubscribe", "tasks/resubscribe", "SubscribeToTask",
		Route{"POST", "/tasks/{id}:subscribe", true}, Route{"GET", "/tasks/{id}:subscribe", false}),
	operation(CreateTaskPushNotificationConfig, unary(a2a.Service.CreateTaskPushNotificationConfig),
		"tasks/pushNotification/set", "tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig",
		Route{"POST", "/tasks/{taskId}/pushNotificationConfigs", true}).creating(),
	operation(GetTaskPushNotificationConfig, unary(a2a.Service.GetTaskPushNotificationConfig),
		"tasks/pushNotification/get", "tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig",
		Route{"GET", "/tasks/{taskId}/pushNotificationConfigs/{id}", false}),
	operation(ListTaskPushNotificationConfigs, unary(a2a.Service.ListTaskPushNotificationConfigs),
		"", "tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs",
		Route{"GET", "/tasks/{taskId}/pushNotificationConfigs", false}),
	operation(DeleteTaskPushNotificationConfig, silent(a2a.Service.DeleteTaskPushNotificationConfig),
		"", "tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig",
		Route{"DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}", false}),
	operation(GetExtendedAgentCard, unary(a2a.Service.GetExtendedAgentCard), "", "agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard",
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

// shape has the request, the result and the call of an operation, from its method of
// a2a.Service.
type shape struct {
	newRequest, newResult func() any                                                                    // the latter is nil if there is no result
	call                  func(context.Context, a2a.Service, any) (any, error)                          // nil if it streams
	stream                func(context.Context, a2a.Service, any) iter.Seq2[*a2a.StreamResponse, error] // nil if it does not
}

func unary[Q, R any](do func(a2a.Service, context.Context, *Q) (*R, error)) shape {
	return shape{newRequest: empty[Q], newResult: empty[R], call: func(ctx context.Context, s a2a.Service, req any) (any, error) {
		v, err := do(s, ctx, req.(*Q))
		if err != nil {
			return nil, err // v would be an any that is not nil
		}
		return v, nil
	}}
}

// silent is unary for an operation that answers with nothing.
func silent[Q any](do func(a2a.Service, context.Context, *Q) error) shape {
	return shape{newRequest: empty[Q], call: func(ctx context.Context, s a2a.Service, req any) (any, error) {
		return nil, do(s, ctx, req.(*Q))
	}}
}

func streaming[Q any](do func(a2a.Service, context.Context, *Q) iter.Seq2[*a2a.StreamResponse, error]) shape {
	return shape{newRequest: empty[Q], newResult: empty[a2a.StreamResponse], stream: func(ctx context.Context, s a2a.Service, req any) iter.Seq2[*a2a.StreamResponse, error] {
		return do(s, ctx, req.(*Q))
	}}
}

func empty[T any]() any { return new(T) }

// Call performs a unary operation. req must be of the operation's request
// type; the result is of its response type, nil for a delete.
func Call(ctx context.Context, s a2a.Service, op Op, req any) (any, error) {
	return Get(op).call(ctx, s, req)
}

// Stream performs a streaming operation.
func Stream(ctx context.Context, s a2a.Service, op Op, req any) iter.Seq2[*a2a.StreamResponse, error] {
	return Get(op).stream(ctx, s, req)
}

// NewRequest returns an empty request of the operation's type.
func NewRequest(op Op) any { return Get(op).newRequest() }

// NewResult returns an empty result of a unary operation's type, or a
// *a2a.StreamResponse for a streaming one; nil for a delete.
func NewResult(op Op) any {
	o := Get(op)
	if o.Silent {
		return nil
	}
	return o.newResult()
}

// fieldsOf returns the fields of a request that paths name; nil for those that it does
// not have.
func fieldsOf(req any) (tenant, id, taskID *string) {
	switch r := req.(type) {
	case *a2a.SendMessageRequest:
		return &r.Tenant, nil, nil
	case *a2a.GetTaskRequest:
		return &r.Tenant, &r.ID, nil
	case *a2a.ListTasksRequest:
		return &r.Tenant, nil, nil
	case *a2a.CancelTaskRequest:
		return &r.Tenant, &r.ID, nil
	case *a2a.SubscribeToTaskRequest:
		return &r.Tenant, &r.ID, nil
	case *a2a.TaskPushNotificationConfig:
		return &r.Tenant, &r.ID, &r.TaskID
	case *a2a.GetTaskPushNotificationConfigRequest:
		return &r.Tenant, &r.ID, &r.TaskID
	case *a2a.ListTaskPushNotificationConfigsRequest:
		return &r.Tenant, nil, &r.TaskID
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		return &r.Tenant, &r.ID, &r.TaskID
	case *a2a.GetExtendedAgentCardRequest:
		return &r.Tenant, nil, nil
	}
	return nil, nil, nil
}
