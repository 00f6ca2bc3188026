package dialect

import (
	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/proto"
)

// v03PB makes messages of 0.3 without JSON in between, which takes ten times as long.
type v03PB struct{ valueCount }

// v03ResultPB returns the message of a task or of the answer to a message; nil for other
// results.
func v03ResultPB(result any) (out proto.Message, err error) {
	c := v03PB{valueCount{maxProtoValues}}
	switch r := result.(type) {
	case *a2a.SendMessageResponse:
		answer := new(v03.SendMessageResponse)
		switch {
		case r.Task != nil:
			answer.Payload = &v03.SendMessageResponse_Task{Task: c.task(r.Task)}
		case r.Message != nil:
			answer.Payload = &v03.SendMessageResponse_Msg{Msg: c.message(r.Message)}
		}
		out = answer
	case *a2a.Task:
		out = c.task(orEmpty(r))
	}
	return out, c.err()
}

// v03ElementPB returns the message of an element of a stream, which may be the last; nil
// for one that 0.3 does not have.
func v03ElementPB(el *a2a.StreamResponse, final bool) (*v03.StreamResponse, error) {
	c := v03PB{valueCount{maxProtoValues}}
	out := new(v03.StreamResponse)
	switch {
	case el.Task != nil:
		out.Payload = &v03.StreamResponse_Task{Task: c.task(el.Task)}
	case el.Message != nil:
		out.Payload = &v03.StreamResponse_Msg{Msg: c.message(el.Message)}
	case el.StatusUpdate != nil:
		u := el.StatusUpdate
		out.Payload = &v03.StreamResponse_StatusUpdate{StatusUpdate: &v03.TaskStatusUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Status: c.status(&u.Status), Final: final, Metadata: c.object(u.Metadata),
		}}
	case el.ArtifactUpdate != nil:
		u := el.ArtifactUpdate
		out.Payload = &v03.StreamResponse_ArtifactUpdate{ArtifactUpdate: &v03.TaskArtifactUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Artifact: c.artifact(orEmpty(u.Artifact)), Append: u.Append, LastChunk: u.LastChunk,
			Metadata: c.object(u.Metadata),
		}}
	default:
		return nil, nil
	}
	return out, c.err()
}

func (c *v03PB) task(t *a2a.Task) *v03.Task {
	return &v03.Task{
		Id: utf(t.ID), ContextId: utf(t.ContextID), Status: c.status(&t.Status),
		Artifacts: each(t.Artifacts, c.artifact), History: each(t.History, c.message), Metadata: c.object(t.Metadata),
	}
}

func (c *v03PB) status(s *a2a.TaskStatus) *v03.TaskStatus {
	out := &v03.TaskStatus{State: v03.TaskState(s.State), Timestamp: timePB(s.Timestamp)}
	if s.Message != nil {
		out.Update = c.message(s.Message)
	}
	return out
}

func (c *v03PB) message(m *a2a.Message) *v03.Message {
	return &v03.Message{
		MessageId: utf(m.MessageID), ContextId: utf(m.ContextID), TaskId: utf(m.TaskID), Role: v03.Role(m.Role),
		Content: each(m.Parts, c.part), Metadata: c.object(m.Metadata), Extensions: utfs(m.Extensions), ReferenceTaskIds: utfs(m.ReferenceTaskIDs),
	}
}

func (c *v03PB) artifact(a *a2a.Artifact) *v03.Artifact {
	return &v03.Artifact{
		ArtifactId: utf(a.ArtifactID), Name: utf(a.Name), Description: utf(a.Description),
		Parts: each(a.Parts, c.part), Metadata: c.object(a.Metadata), Extensions: utfs(a.Extensions),
	}
}

func (c *v03PB) part(p *a2a.Part) *v03.Part {
	switch p.Kind {
	case a2a.PartRaw:
		return c.file(p, &v03.FilePart{File: &v03.FilePart_FileWithBytes{FileWithBytes: p.Raw}})
	case a2a.PartURL:
		return c.file(p, &v03.FilePart{File: &v03.FilePart_FileWithUri{FileWithUri: utf(p.URL)}})
	case a2a.PartData:
		data, metadata := wrapData(p)
		return &v03.Part{
			Part:     &v03.Part_Data{Data: &v03.DataPart{Data: c.object(data)}},
			Metadata: c.object(mimeMetadata(metadata, p.MediaType)),
		}
	}
	return &v03.Part{Part: &v03.Part_Text{Text: utf(p.Text)}, Metadata: c.object(mimeMetadata(p.Metadata, p.MediaType))}
}

func (c *v03PB) file(p *a2a.Part, f *v03.FilePart) *v03.Part {
	f.MimeType, f.Name = utf(p.MediaType), utf(p.Filename)
	return &v03.Part{Part: &v03.Part_File{File: f}, Metadata: c.object(p.Metadata)}
}
