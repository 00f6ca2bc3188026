package dialect

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// utf makes a text one that protocol buffers accept.
func utf(s string) string {
	if utf8.ValidString(s) { // which is much faster
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

func utfs(list []string) []string {
	for i, s := range list {
		if u := utf(s); len(u) != len(s) || u != s {
			out := append([]string(nil), list...)
			for ; i < len(out); i++ {
				out[i] = utf(out[i])
			}
			return out
		}
	}
	return list
}

// each converts a list; nil, a mistake of the program's, is the empty message.
func each[T, P any](list []*T, convert func(*T) *P) []*P {
	if len(list) == 0 {
		return nil
	}
	out := make([]*P, len(list))
	for i, v := range list {
		if v == nil {
			v = new(T)
		}
		out[i] = convert(v)
	}
	return out
}

func timePB(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Truncate(time.Millisecond))
}

func sendRequestPB(r *a2a.SendMessageRequest) *pb.SendMessageRequest {
	out := &pb.SendMessageRequest{Tenant: utf(r.Tenant), Message: messagePB(r.Message), Metadata: structPB(r.Metadata)}
	if c := r.Configuration; c != nil {
		out.Configuration = &pb.SendMessageConfiguration{
			AcceptedOutputModes:        utfs(c.AcceptedOutputModes),
			TaskPushNotificationConfig: pushPB(c.TaskPushNotificationConfig),
			HistoryLength:              c.HistoryLength,
			IfGenerationMatch:          c.IfGenerationMatch,
			TimelineLength:             c.TimelineLength,
			ReturnImmediately:          c.ReturnImmediately,
		}
	}
	return out
}

func listRequestPB(r *a2a.ListTasksRequest) *pb.ListTasksRequest {
	out := &pb.ListTasksRequest{
		Tenant: utf(r.Tenant), ContextId: utf(r.ContextID), Status: pb.TaskState(r.Status),
		PageSize: r.PageSize, PageToken: utf(r.PageToken), HistoryLength: r.HistoryLength,
		StatusTimestampAfter: timePB(r.StatusTimestampAfter), TimelineLength: r.TimelineLength,
	}
	if r.IncludeArtifacts {
		out.IncludeArtifacts = &r.IncludeArtifacts
	}
	return out
}

func sendResponsePB(r *a2a.SendMessageResponse) *pb.SendMessageResponse {
	switch {
	case r.Task != nil:
		return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Task{Task: taskPB(r.Task)}}
	case r.Message != nil:
		return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Message{Message: messagePB(r.Message)}}
	}
	return new(pb.SendMessageResponse)
}

func streamResponsePB(r *a2a.StreamResponse) *pb.StreamResponse {
	switch {
	case r.Task != nil:
		return &pb.StreamResponse{Payload: &pb.StreamResponse_Task{Task: taskPB(r.Task)}}
	case r.Message != nil:
		return &pb.StreamResponse{Payload: &pb.StreamResponse_Message{Message: messagePB(r.Message)}}
	case r.StatusUpdate != nil:
		u := r.StatusUpdate
		return &pb.StreamResponse{Payload: &pb.StreamResponse_StatusUpdate{StatusUpdate: &pb.TaskStatusUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Status: statusPB(&u.Status), Metadata: structPB(u.Metadata),
			Generation: u.Generation,
		}}}
	case r.ArtifactUpdate != nil:
		u := r.ArtifactUpdate
		return &pb.StreamResponse{Payload: &pb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &pb.TaskArtifactUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Artifact: artifactPB(u.Artifact),
			Append: u.Append, LastChunk: u.LastChunk, Metadata: structPB(u.Metadata),
			Generation: u.Generation,
		}}}
	case r.MessageUpdate != nil:
		u := r.MessageUpdate
		return &pb.StreamResponse{Payload: &pb.StreamResponse_MessageUpdate{MessageUpdate: &pb.TaskMessageUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Message: messagePB(u.Message), Metadata: structPB(u.Metadata), Generation: u.Generation,
		}}}
	}
	return new(pb.StreamResponse)
}

func taskPB(t *a2a.Task) *pb.Task {
	return &pb.Task{
		Id: utf(t.ID), ContextId: utf(t.ContextID), Status: statusPB(&t.Status),
		Artifacts: each(t.Artifacts, artifactPB), History: each(t.History, messagePB), Metadata: structPB(t.Metadata),
		Generation: t.Generation, Timeline: each(t.Timeline, timelinePB), Elicitations: each(t.Elicitations, elicitationPB),
	}
}

func statusPB(s *a2a.TaskStatus) *pb.TaskStatus {
	return &pb.TaskStatus{State: pb.TaskState(s.State), Message: messagePB(s.Message), Timestamp: timePB(s.Timestamp), Elicitations: each(s.Elicitations, elicitationPB)}
}

func timelinePB(e *a2a.TimelineEntry) *pb.TimelineEntry {
	out := &pb.TimelineEntry{Generation: e.Generation}
	switch {
	case e.Message != nil:
		out.Entry = &pb.TimelineEntry_Message{Message: messagePB(e.Message)}
	case e.Status != nil:
		out.Entry = &pb.TimelineEntry_Status{Status: statusPB(e.Status)}
	}
	return out
}

func elicitationPB(e *a2a.Elicitation) *pb.Elicitation {
	return &pb.Elicitation{ElicitationId: utf(e.ElicitationID), State: pb.ElicitationState(e.State), Metadata: structPB(e.Metadata)}
}

func messagePB(m *a2a.Message) *pb.Message {
	if m == nil {
		return nil
	}
	return &pb.Message{
		MessageId: utf(m.MessageID), ContextId: utf(m.ContextID), TaskId: utf(m.TaskID), Role: pb.Role(m.Role),
		Parts: each(m.Parts, partPB), Metadata: structPB(m.Metadata),
		Extensions: utfs(m.Extensions), ReferenceTaskIds: utfs(m.ReferenceTaskIDs), ElicitationIds: utfs(m.ElicitationIDs),
	}
}

func artifactPB(a *a2a.Artifact) *pb.Artifact {
	if a == nil {
		return nil
	}
	return &pb.Artifact{
		ArtifactId: utf(a.ArtifactID), Name: utf(a.Name), Description: utf(a.Description),
		Parts: each(a.Parts, partPB), Metadata: structPB(a.Metadata), Extensions: utfs(a.Extensions),
		StartGeneration: a.StartGeneration, EndGeneration: a.EndGeneration,
	}
}

func partPB(p *a2a.Part) *pb.Part {
	out := &pb.Part{Metadata: structPB(p.Metadata), Filename: utf(p.Filename), MediaType: utf(p.MediaType)}
	switch p.Kind {
	case a2a.PartText:
		out.Content = &pb.Part_Text{Text: utf(p.Text)}
	case a2a.PartRaw:
		out.Content = &pb.Part_Raw{Raw: p.Raw}
	case a2a.PartURL:
		out.Content = &pb.Part_Url{Url: utf(p.URL)}
	case a2a.PartData:
		out.Content = &pb.Part_Data{Data: valuePB(p.Data)}
	}
	return out
}

func pushPB(c *a2a.TaskPushNotificationConfig) *pb.TaskPushNotificationConfig {
	if c == nil {
		return nil
	}
	out := &pb.TaskPushNotificationConfig{Tenant: utf(c.Tenant), Id: utf(c.ID), TaskId: utf(c.TaskID), Url: utf(c.URL), Token: utf(string(c.Token)), ProtocolVersion: utf(c.ProtocolVersion)}
	if a := c.Authentication; a != nil {
		out.Authentication = &pb.AuthenticationInfo{Scheme: utf(a.Scheme), Credentials: utf(string(a.Credentials))}
	}
	return out
}
