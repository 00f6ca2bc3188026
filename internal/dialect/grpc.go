package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// GRPCService is the name of the v1.0 service (§10.1). A method's path is
// /GRPCService/Operation.Name.
const GRPCService = "lf.a2a.v1.A2AService"

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
	m.(*pb.StreamResponse).Seq = seq
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
