package dialect

import (
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// v03PB makes messages of 0.3 without the JSON between, which takes ten times as
// long. Where there is free JSON, in metadata or data, the way through the codec's
// form decides what becomes of it: then free is set, and what was made is no good.
type v03PB struct{ free bool }

// v03ResultPB returns the message of a result; nil where JSON has to be between.
func v03ResultPB(result any) proto.Message {
	var c v03PB
	var out proto.Message
	switch r := result.(type) {
	case *a2a.SendMessageResponse:
		switch {
		case r.Task != nil:
			out = &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Task{Task: c.task(r.Task)}}
		case r.Message != nil:
			out = &v03.SendMessageResponse{Payload: &v03.SendMessageResponse_Msg{Msg: c.message(r.Message)}}
		}
	case *a2a.Task:
		if r != nil {
			out = c.task(r)
		}
	}
	if c.free {
		return nil
	}
	return out
}

// v03ElementPB is v03ResultPB for an element of a stream, which may be the last.
func v03ElementPB(el *a2a.StreamResponse, final bool) *v03.StreamResponse {
	var c v03PB
	out := new(v03.StreamResponse)
	switch {
	case el.Task != nil:
		out.Payload = &v03.StreamResponse_Task{Task: c.task(el.Task)}
	case el.Message != nil:
		out.Payload = &v03.StreamResponse_Msg{Msg: c.message(el.Message)}
	case el.StatusUpdate != nil:
		u := el.StatusUpdate
		c.json(u.Metadata)
		out.Payload = &v03.StreamResponse_StatusUpdate{StatusUpdate: &v03.TaskStatusUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Status: c.status(&u.Status), Final: final,
		}}
	case el.ArtifactUpdate != nil:
		u := el.ArtifactUpdate
		c.json(u.Metadata)
		a := u.Artifact
		if a == nil {
			a = new(a2a.Artifact)
		}
		out.Payload = &v03.StreamResponse_ArtifactUpdate{ArtifactUpdate: &v03.TaskArtifactUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Artifact: c.artifact(a), Append: u.Append, LastChunk: u.LastChunk,
		}}
	default:
		return nil
	}
	if c.free {
		return nil
	}
	return out
}

func (c *v03PB) json(v a2a.JSON) { c.free = c.free || len(v) > 0 }

func (c *v03PB) task(t *a2a.Task) *v03.Task {
	c.json(t.Metadata)
	return &v03.Task{
		Id: utf(t.ID), ContextId: utf(t.ContextID), Status: c.status(&t.Status),
		Artifacts: each(t.Artifacts, c.artifact), History: each(t.History, c.message),
	}
}

func (c *v03PB) status(s *a2a.TaskStatus) *v03.TaskStatus {
	out := &v03.TaskStatus{State: v03.TaskState(s.State), Timestamp: c.time(s.Timestamp)}
	if s.Message != nil {
		out.Update = c.message(s.Message)
	}
	if s.State != a2a.TaskStateUnspecified && !s.State.Valid() {
		c.free = true
	}
	return out
}

func (c *v03PB) time(t time.Time) *timestamppb.Timestamp {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		c.free = true // JSON has no such time
	}
	return timePB(t)
}

func (c *v03PB) message(m *a2a.Message) *v03.Message {
	c.json(m.Metadata)
	if m.Role < a2a.RoleUnspecified || m.Role > a2a.RoleAgent {
		c.free = true
	}
	return &v03.Message{
		MessageId: utf(m.MessageID), ContextId: utf(m.ContextID), TaskId: utf(m.TaskID), Role: v03.Role(m.Role),
		Content: each(m.Parts, c.part), Extensions: utfs(m.Extensions), ReferenceTaskIds: utfs(m.ReferenceTaskIDs),
	}
}

func (c *v03PB) artifact(a *a2a.Artifact) *v03.Artifact {
	c.json(a.Metadata)
	return &v03.Artifact{
		ArtifactId: utf(a.ArtifactID), Name: utf(a.Name), Description: utf(a.Description),
		Parts: each(a.Parts, c.part), Extensions: utfs(a.Extensions),
	}
}

func (c *v03PB) part(p *a2a.Part) *v03.Part {
	c.json(p.Metadata)
	file := &v03.FilePart{MimeType: utf(p.MediaType), Name: utf(p.Filename)}
	switch p.Kind {
	case a2a.PartRaw:
		file.File = &v03.FilePart_FileWithBytes{FileWithBytes: p.Raw}
	case a2a.PartURL:
		file.File = &v03.FilePart_FileWithUri{FileWithUri: utf(p.URL)}
	case a2a.PartData:
		c.free = true
		return nil
	default:
		c.free = c.free || p.MediaType != "" // which is in the metadata
		return &v03.Part{Part: &v03.Part_Text{Text: utf(p.Text)}}
	}
	return &v03.Part{Part: &v03.Part_File{File: file}}
}
