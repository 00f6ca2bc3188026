package dialect

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// utf makes a text valid for protocol buffers.
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

// each converts a list.
func each[T, P any](list []*T, convert func(*T) *P) []*P {
	if len(list) == 0 {
		return nil
	}
	out := make([]*P, len(list))
	for i, v := range list {
		out[i] = convert(orEmpty(v))
	}
	return out
}

// pbWriter makes messages of version 1.0. It writes members of the 1.1 draft only if
// draft is set, so that no 1.0 reader meets a field that it does not know.
type pbWriter struct {
	draft bool
	valueCount
}

// only returns v if is is true, and the zero value otherwise.
func only[T any](is bool, v T) (nothing T) {
	if is {
		return v
	}
	return nothing
}

func timePB(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t.Truncate(time.Millisecond))
}

func (w *pbWriter) sendRequest(r *a2a.SendMessageRequest) *pb.SendMessageRequest {
	out := &pb.SendMessageRequest{Tenant: utf(r.Tenant), Message: w.message(r.Message), Metadata: w.object(r.Metadata)}
	if c := r.Configuration; c != nil {
		out.Configuration = &pb.SendMessageConfiguration{
			AcceptedOutputModes:        utfs(c.AcceptedOutputModes),
			TaskPushNotificationConfig: w.push(c.TaskPushNotificationConfig),
			HistoryLength:              c.HistoryLength,
			IfGenerationMatch:          c.IfGenerationMatch,
			TimelineLength:             c.TimelineLength,
			ReturnImmediately:          c.ReturnImmediately,
		}
	}
	return out
}

func (w *pbWriter) listRequest(r *a2a.ListTasksRequest) *pb.ListTasksRequest {
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

func (w *pbWriter) sendResponse(r *a2a.SendMessageResponse) *pb.SendMessageResponse {
	switch {
	case r.Task != nil:
		return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Task{Task: w.task(r.Task)}}
	case r.Message != nil:
		return &pb.SendMessageResponse{Payload: &pb.SendMessageResponse_Message{Message: w.message(r.Message)}}
	}
	return new(pb.SendMessageResponse)
}

func (w *pbWriter) streamResponse(r *a2a.StreamResponse) *pb.StreamResponse {
	switch {
	case r.Task != nil:
		return &pb.StreamResponse{Payload: &pb.StreamResponse_Task{Task: w.task(r.Task)}}
	case r.Message != nil:
		return &pb.StreamResponse{Payload: &pb.StreamResponse_Message{Message: w.message(r.Message)}}
	case r.StatusUpdate != nil:
		u := r.StatusUpdate
		return &pb.StreamResponse{Payload: &pb.StreamResponse_StatusUpdate{StatusUpdate: &pb.TaskStatusUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Status: w.status(&u.Status), Metadata: w.object(u.Metadata),
			Generation: only(w.draft, u.Generation),
		}}}
	case r.ArtifactUpdate != nil:
		u := r.ArtifactUpdate
		return &pb.StreamResponse{Payload: &pb.StreamResponse_ArtifactUpdate{ArtifactUpdate: &pb.TaskArtifactUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Artifact: w.artifact(u.Artifact),
			Append: u.Append, LastChunk: u.LastChunk, Metadata: w.object(u.Metadata),
			Generation: only(w.draft, u.Generation),
		}}}
	case r.MessageUpdate != nil && w.draft:
		u := r.MessageUpdate
		return &pb.StreamResponse{Payload: &pb.StreamResponse_MessageUpdate{MessageUpdate: &pb.TaskMessageUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Message: w.message(u.Message), Metadata: w.object(u.Metadata), Generation: only(w.draft, u.Generation),
		}}}
	}
	return new(pb.StreamResponse)
}

func (w *pbWriter) task(t *a2a.Task) *pb.Task {
	return &pb.Task{
		Id: utf(t.ID), ContextId: utf(t.ContextID), Status: w.status(&t.Status),
		Artifacts: each(t.Artifacts, w.artifact), History: each(t.History, w.message), Metadata: w.object(t.Metadata),
		Generation: only(w.draft, t.Generation), Timeline: each(only(w.draft, t.Timeline), w.timeline), Elicitations: w.elicitations(t.Elicitations),
	}
}

func (w *pbWriter) status(s *a2a.TaskStatus) *pb.TaskStatus {
	return &pb.TaskStatus{State: pb.TaskState(s.State), Message: w.message(s.Message), Timestamp: timePB(s.Timestamp), Elicitations: w.elicitations(s.Elicitations)}
}

func (w *pbWriter) timeline(e *a2a.TimelineEntry) *pb.TimelineEntry {
	out := &pb.TimelineEntry{Generation: e.Generation}
	switch {
	case e.Message != nil:
		out.Entry = &pb.TimelineEntry_Message{Message: w.message(e.Message)}
	case e.Status != nil:
		out.Entry = &pb.TimelineEntry_Status{Status: w.status(e.Status)}
	}
	return out
}

func (w *pbWriter) elicitations(list []*a2a.Elicitation) []*pb.Elicitation {
	return each(only(w.draft, list), func(e *a2a.Elicitation) *pb.Elicitation {
		return &pb.Elicitation{ElicitationId: utf(e.ElicitationID), State: pb.ElicitationState(e.State), Metadata: w.object(e.Metadata)}
	})
}

func (w *pbWriter) message(m *a2a.Message) *pb.Message {
	if m == nil {
		return nil
	}
	return &pb.Message{
		MessageId: utf(m.MessageID), ContextId: utf(m.ContextID), TaskId: utf(m.TaskID), Role: pb.Role(m.Role),
		Parts: each(m.Parts, w.part), Metadata: w.object(m.Metadata),
		Extensions: utfs(m.Extensions), ReferenceTaskIds: utfs(m.ReferenceTaskIDs), ElicitationIds: utfs(only(w.draft, m.ElicitationIDs)),
	}
}

func (w *pbWriter) artifact(a *a2a.Artifact) *pb.Artifact {
	if a == nil {
		return nil
	}
	return &pb.Artifact{
		ArtifactId: utf(a.ArtifactID), Name: utf(a.Name), Description: utf(a.Description),
		Parts: each(a.Parts, w.part), Metadata: w.object(a.Metadata), Extensions: utfs(a.Extensions),
		StartGeneration: only(w.draft, a.StartGeneration), EndGeneration: only(w.draft, a.EndGeneration),
	}
}

func (w *pbWriter) part(p *a2a.Part) *pb.Part {
	out := &pb.Part{Metadata: w.object(p.Metadata), Filename: utf(p.Filename), MediaType: utf(p.MediaType)}
	switch p.Kind {
	case a2a.PartText:
		out.Content = &pb.Part_Text{Text: utf(p.Text)}
	case a2a.PartRaw:
		out.Content = &pb.Part_Raw{Raw: p.Raw}
	case a2a.PartURL:
		out.Content = &pb.Part_Url{Url: utf(p.URL)}
	case a2a.PartData:
		out.Content = &pb.Part_Data{Data: w.value(p.Data)}
	}
	return out
}

func (w *pbWriter) push(c *a2a.TaskPushNotificationConfig) *pb.TaskPushNotificationConfig {
	if c == nil {
		return nil
	}
	out := &pb.TaskPushNotificationConfig{Tenant: utf(c.Tenant), Id: utf(c.ID), TaskId: utf(c.TaskID), Url: utf(c.URL), Token: utf(string(c.Token)), ProtocolVersion: utf(only(w.draft, c.ProtocolVersion))}
	if a := c.Authentication; a != nil {
		out.Authentication = &pb.AuthenticationInfo{Scheme: utf(a.Scheme), Credentials: utf(string(a.Credentials))}
	}
	return out
}
