package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Names of the gRPC services: of version 1.0 with the 1.1 draft (§10.1), and
// of 0.3. A method's path is /service/method.
const (
	GRPCService    = "lf.a2a.v1.A2AService"
	GRPCServiceV03 = "a2a.v1.A2AService"
)

// GRPC is the gRPC binding of a dialect, for both sides. It has no state and
// may be used concurrently. Positions of a stream's elements are not in the
// messages; see WithSeq.
type GRPC interface {
	Service() string
	// Method returns the name of an operation's method, "" if there is none.
	Method(op Op) string
	// NewRequest returns an empty request message.
	NewRequest(op Op) proto.Message
	// NewResult returns an empty message of the result's type, or of a
	// stream's elements.
	NewResult(op Op) proto.Message

	// DecodeRequest reads a request as Codec does. The error is InvalidParams
	// and names the fields.
	DecodeRequest(op Op, m proto.Message) (any, error)
	// Request is the inverse.
	Request(op Op, req any) (proto.Message, error)
	// Result makes the answer to req of what Call returns.
	Result(op Op, req, result any) (proto.Message, error)
	// DecodeResult reads an answer. The error is InvalidAgentResponse.
	DecodeResult(op Op, req any, m proto.Message) (any, error)

	// Events returns what makes the messages of the stream that answers req.
	Events(op Op, req any) GRPCEvents
	// DecodeEvent reads a message of the stream that answers req, as Codec
	// does.
	DecodeEvent(op Op, req any, m proto.Message) ([]*a2a.StreamResponse, error)
}

// GRPCEvents is Events for messages. It belongs to one goroutine.
type GRPCEvents interface {
	// Messages returns what an element becomes: usually one message.
	Messages(el *a2a.StreamResponse) ([]proto.Message, error)
	// Ended reports whether the last message said that it is the last.
	Ended() bool
}

// GRPCOf returns the gRPC binding of a dialect; nil if it has none.
func GRPCOf(d Dialect) GRPC {
	switch d {
	case V03:
		return v03GRPC{}
	case V10:
		return v1GRPC{}
	case V11:
		return v1GRPC{v1Codec{generations: true}}
	}
	return nil
}

// GRPCServices are the dialects that a server registers a service for; a call
// may turn out to be of a later one. See DetectGRPC.
var GRPCServices = []Dialect{V10, V03}

// v1GRPC is version 1.0 and, with generations, the 1.1 draft.
type v1GRPC struct{ v1Codec }

func (v1GRPC) Service() string     { return GRPCService }
func (v1GRPC) Method(op Op) string { return Get(op).Methods[V10] }

func (v1GRPC) NewRequest(op Op) proto.Message { return NewProtoRequest(op) }
func (v1GRPC) NewResult(op Op) proto.Message  { return NewProtoResult(op) }

func (g v1GRPC) DecodeRequest(_ Op, m proto.Message) (any, error) {
	req, err := FromProto(m)
	if err != nil {
		return nil, err
	}
	return g.readable(req), nil
}

func (v1GRPC) Request(_ Op, req any) (proto.Message, error) { return ToProto(req), nil }

func (g v1GRPC) Result(_ Op, _, result any) (proto.Message, error) {
	return ToProto(g.visible(result)), nil
}

func (v1GRPC) DecodeResult(op Op, _ any, m proto.Message) (any, error) { return ResultFromProto(op, m) }

func (g v1GRPC) Events(Op, any) GRPCEvents { return v1GRPCEvents{g} }

func (v1GRPC) DecodeEvent(op Op, _ any, m proto.Message) ([]*a2a.StreamResponse, error) {
	v, err := ResultFromProto(op, m)
	if err != nil {
		return nil, err
	}
	return []*a2a.StreamResponse{v.(*a2a.StreamResponse)}, nil
}

type v1GRPCEvents struct{ v1GRPC }

func (e v1GRPCEvents) Messages(el *a2a.StreamResponse) ([]proto.Message, error) {
	return []proto.Message{ToProto(e.element(el))}, nil
}

func (v1GRPCEvents) Ended() bool { return false }

// NewProtoRequest returns an empty request message of the operation's type.
func NewProtoRequest(op Op) proto.Message {
	switch op {
	case SendMessage, SendStreamingMessage:
		return new(pb.SendMessageRequest)
	case GetTask:
		return new(pb.GetTaskRequest)
	case ListTasks:
		return new(pb.ListTasksRequest)
	case CancelTask:
		return new(pb.CancelTaskRequest)
	case SubscribeToTask:
		return new(pb.SubscribeToTaskRequest)
	case CreateTaskPushNotificationConfig:
		return new(pb.TaskPushNotificationConfig)
	case GetTaskPushNotificationConfig:
		return new(pb.GetTaskPushNotificationConfigRequest)
	case ListTaskPushNotificationConfigs:
		return new(pb.ListTaskPushNotificationConfigsRequest)
	case DeleteTaskPushNotificationConfig:
		return new(pb.DeleteTaskPushNotificationConfigRequest)
	case GetExtendedAgentCard:
		return new(pb.GetExtendedAgentCardRequest)
	}
	panic("dialect: NewProtoRequest of " + op.String())
}

// NewProtoResult returns an empty message of the operation's result type, or
// of its stream's elements.
func NewProtoResult(op Op) proto.Message {
	switch op {
	case SendMessage:
		return new(pb.SendMessageResponse)
	case SendStreamingMessage, SubscribeToTask:
		return new(pb.StreamResponse)
	case GetTask, CancelTask:
		return new(pb.Task)
	case ListTasks:
		return new(pb.ListTasksResponse)
	case CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig:
		return new(pb.TaskPushNotificationConfig)
	case ListTaskPushNotificationConfigs:
		return new(pb.ListTaskPushNotificationConfigsResponse)
	case DeleteTaskPushNotificationConfig:
		return new(emptypb.Empty)
	case GetExtendedAgentCard:
		return new(pb.AgentCard)
	}
	panic("dialect: NewProtoResult of " + op.String())
}

// ToProto converts a request, or a result as Call and Stream give it: nil is
// the result of a delete. The position of a stream's element is not in it; see
// WithSeq.
//
// What protocol buffers cannot carry of an a2a value:
//
//   - JSON values (metadata, data, params, header) are kept as values, not byte
//     for byte: the order of keys, white space and the spelling of numbers are
//     lost, and of two equal keys the last one stays. Numbers are float64:
//     integers beyond 2^53 are rounded, and what is beyond the range of float64
//     becomes its largest. Half a surrogate pair becomes U+FFFD.
//   - As in JSON, timestamps are cut to milliseconds and bytes that are not
//     UTF-8 become U+FFFD.
//   - Lists and maps that are empty are absent, and so is what an OAuth flow does
//     not have, such as the authorization URL of the password flow.
func ToProto(v any) proto.Message {
	switch v := v.(type) {
	case nil:
		return new(emptypb.Empty)
	case *a2a.SendMessageRequest:
		return sendRequestPB(v)
	case *a2a.GetTaskRequest:
		return &pb.GetTaskRequest{Tenant: utf(v.Tenant), Id: utf(v.ID), HistoryLength: v.HistoryLength, CurrentGeneration: v.CurrentGeneration}
	case *a2a.ListTasksRequest:
		return listRequestPB(v)
	case *a2a.CancelTaskRequest:
		return &pb.CancelTaskRequest{Tenant: utf(v.Tenant), Id: utf(v.ID), Metadata: structPB(v.Metadata)}
	case *a2a.SubscribeToTaskRequest:
		return &pb.SubscribeToTaskRequest{Tenant: utf(v.Tenant), Id: utf(v.ID)}
	case *a2a.TaskPushNotificationConfig:
		return pushPB(v)
	case *a2a.GetTaskPushNotificationConfigRequest:
		return &pb.GetTaskPushNotificationConfigRequest{Tenant: utf(v.Tenant), TaskId: utf(v.TaskID), Id: utf(v.ID)}
	case *a2a.ListTaskPushNotificationConfigsRequest:
		return &pb.ListTaskPushNotificationConfigsRequest{Tenant: utf(v.Tenant), TaskId: utf(v.TaskID), PageSize: v.PageSize, PageToken: utf(v.PageToken)}
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		return &pb.DeleteTaskPushNotificationConfigRequest{Tenant: utf(v.Tenant), TaskId: utf(v.TaskID), Id: utf(v.ID)}
	case *a2a.GetExtendedAgentCardRequest:
		return &pb.GetExtendedAgentCardRequest{Tenant: utf(v.Tenant)}

	case *a2a.SendMessageResponse:
		return sendResponsePB(v)
	case *a2a.StreamResponse:
		return streamResponsePB(v)
	case *a2a.Task:
		return taskPB(v)
	case *a2a.ListTasksResponse:
		return &pb.ListTasksResponse{Tasks: each(v.Tasks, taskPB), NextPageToken: utf(v.NextPageToken), PageSize: v.PageSize, TotalSize: v.TotalSize}
	case *a2a.ListTaskPushNotificationConfigsResponse:
		return &pb.ListTaskPushNotificationConfigsResponse{Configs: each(v.Configs, pushPB), NextPageToken: utf(v.NextPageToken)}
	case *a2a.AgentCard:
		return cardPB(v)
	}
	panic("dialect: ToProto of a type that is no request and no result")
}

// WithSeq adds a position to an element of a stream, as a field that is not in
// the specification. Only clients that sent last-event-id get it; see SeqKey.
func WithSeq(m proto.Message, seq int64) proto.Message {
	switch m := m.(type) {
	case *pb.StreamResponse:
		m.Seq = seq
	case *v03.StreamResponse:
		m.Seq = seq
	}
	return m
}

// SeqKey is the metadata key that asks for positions: in a request that
// streams, "0" asks for a stream with positions from its beginning, and a
// position resumes one behind it, as Last-Event-ID does with server-sent
// events. It is our extension; servers that do not know it ignore it.
const SeqKey = "last-event-id"

// FromProto reads a request into a type of package a2a. The error is
// InvalidParams and names the fields. Fields that are missing are for Validate
// to find.
func FromProto(m proto.Message) (any, error) {
	r := reader{depth: requestDepth}
	v := r.any(m)
	if len(r.bad) > 0 {
		return nil, r.invalid()
	}
	return v, nil
}

// ResultFromProto reads the result of an operation or an element of its
// stream; that of a delete is nil. The error is InvalidAgentResponse.
func ResultFromProto(op Op, m proto.Message) (any, error) {
	r := reader{depth: resultDepth}
	v := r.any(m)
	if len(r.bad) > 0 {
		return nil, &a2a.Error{
			Code:    a2a.CodeInvalidAgentResponse,
			Message: "the agent's answer to " + op.String() + " cannot be read",
			Cause:   r.invalid(),
		}
	}
	return v, nil
}
