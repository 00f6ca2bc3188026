package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Conversion of requests and results to messages of 1.0, and back.

// any converts a request, or a result as Call and Stream return it: nil is the result of
// a delete. It does not convert cards: see cardPB. The position of a stream's element is
// not in the message; see WithSeq.
func (w *pbWriter) any(v any) proto.Message {
	switch v := v.(type) {
	case nil:
		return new(emptypb.Empty)
	case *a2a.SendMessageRequest:
		return w.sendRequest(v)
	case *a2a.GetTaskRequest:
		return &pb.GetTaskRequest{Tenant: utf(v.Tenant), Id: utf(v.ID), HistoryLength: v.HistoryLength, CurrentGeneration: v.CurrentGeneration, TimelineLength: v.TimelineLength}
	case *a2a.ListTasksRequest:
		return w.listRequest(v)
	case *a2a.CancelTaskRequest:
		return &pb.CancelTaskRequest{Tenant: utf(v.Tenant), Id: utf(v.ID), Metadata: w.object(v.Metadata)}
	case *a2a.SubscribeToTaskRequest:
		return &pb.SubscribeToTaskRequest{Tenant: utf(v.Tenant), Id: utf(v.ID)}
	case *a2a.TaskPushNotificationConfig:
		return w.push(v)
	case *a2a.GetTaskPushNotificationConfigRequest:
		return &pb.GetTaskPushNotificationConfigRequest{Tenant: utf(v.Tenant), TaskId: utf(v.TaskID), Id: utf(v.ID)}
	case *a2a.ListTaskPushNotificationConfigsRequest:
		return &pb.ListTaskPushNotificationConfigsRequest{Tenant: utf(v.Tenant), TaskId: utf(v.TaskID), PageSize: v.PageSize, PageToken: utf(v.PageToken)}
	case *a2a.DeleteTaskPushNotificationConfigRequest:
		return &pb.DeleteTaskPushNotificationConfigRequest{Tenant: utf(v.Tenant), TaskId: utf(v.TaskID), Id: utf(v.ID)}
	case *a2a.GetExtendedAgentCardRequest:
		return &pb.GetExtendedAgentCardRequest{Tenant: utf(v.Tenant)}

	case *a2a.SendMessageResponse:
		return w.sendResponse(v)
	case *a2a.StreamResponse:
		return w.streamResponse(v)
	case *a2a.Task:
		return w.task(v)
	case *a2a.ListTasksResponse:
		return &pb.ListTasksResponse{Tasks: each(v.Tasks, w.task), NextPageToken: utf(v.NextPageToken), PageSize: v.PageSize, TotalSize: v.TotalSize}
	case *a2a.ListTaskPushNotificationConfigsResponse:
		return &pb.ListTaskPushNotificationConfigsResponse{Configs: each(v.Configs, w.push), NextPageToken: utf(v.NextPageToken)}
	}
	panic("dialect: a type that is no request and no result")
}

// any converts a request, a result or an element of a stream.
func (r *reader) any(m proto.Message) any {
	switch m := m.(type) {
	case *emptypb.Empty:
		return nil
	case *pb.SendMessageRequest:
		return r.sendRequest(m)
	case *pb.GetTaskRequest:
		return &a2a.GetTaskRequest{Tenant: m.GetTenant(), ID: m.GetId(), HistoryLength: m.HistoryLength, CurrentGeneration: m.CurrentGeneration, TimelineLength: m.TimelineLength}
	case *pb.ListTasksRequest:
		return &a2a.ListTasksRequest{
			Tenant: m.GetTenant(), ContextID: m.GetContextId(), Status: enum[a2a.TaskState](r, "status", m.GetStatus(), pb.TaskState_name, "a task state"),
			PageSize: pageSize(m), PageToken: m.GetPageToken(), HistoryLength: m.HistoryLength,
			StatusTimestampAfter: r.time("statusTimestampAfter", m.GetStatusTimestampAfter()),
			IncludeArtifacts:     m.GetIncludeArtifacts(), TimelineLength: m.TimelineLength,
		}
	case *pb.CancelTaskRequest:
		return &a2a.CancelTaskRequest{Tenant: m.GetTenant(), ID: m.GetId(), Metadata: r.object("metadata", m.GetMetadata())}
	case *pb.SubscribeToTaskRequest:
		return &a2a.SubscribeToTaskRequest{Tenant: m.GetTenant(), ID: m.GetId()}
	case *pb.TaskPushNotificationConfig:
		return r.push(m)
	case *pb.GetTaskPushNotificationConfigRequest:
		return &a2a.GetTaskPushNotificationConfigRequest{Tenant: m.GetTenant(), TaskID: m.GetTaskId(), ID: m.GetId()}
	case *pb.ListTaskPushNotificationConfigsRequest:
		return &a2a.ListTaskPushNotificationConfigsRequest{Tenant: m.GetTenant(), TaskID: m.GetTaskId(), PageSize: m.GetPageSize(), PageToken: m.GetPageToken()}
	case *pb.DeleteTaskPushNotificationConfigRequest:
		return &a2a.DeleteTaskPushNotificationConfigRequest{Tenant: m.GetTenant(), TaskID: m.GetTaskId(), ID: m.GetId()}
	case *pb.GetExtendedAgentCardRequest:
		return &a2a.GetExtendedAgentCardRequest{Tenant: m.GetTenant()}

	case *pb.SendMessageResponse:
		return &a2a.SendMessageResponse{Task: r.task("task", m.GetTask()), Message: r.message("message", m.GetMessage())}
	case *pb.StreamResponse:
		return r.streamResponse(m)
	case *pb.Task:
		return r.task("", m)
	case *pb.ListTasksResponse:
		return &a2a.ListTasksResponse{
			Tasks: readEach("tasks", m.GetTasks(), r.task), NextPageToken: m.GetNextPageToken(),
			PageSize: m.GetPageSize(), TotalSize: m.GetTotalSize(),
		}
	case *pb.ListTaskPushNotificationConfigsResponse:
		list := readEach("", m.GetConfigs(), func(_ string, c *pb.TaskPushNotificationConfig) *a2a.TaskPushNotificationConfig { return r.push(c) })
		return &a2a.ListTaskPushNotificationConfigsResponse{Configs: list, NextPageToken: m.GetNextPageToken()}
	case *pb.AgentCard:
		return r.card(m)
	}
	panic("dialect: a message that is no request and no result")
}
