package dialect

import (
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
	"github.com/parley-a2a/parley/internal/pb/v03"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// v03PB makes messages of 0.3 without JSON in between, which takes ten times as long.
// For unusual values, such as metadata that is not an object, it sets odd: its result
// is then useless, and the way through JSON decides what becomes of them.
type v03PB struct {
	odd bool
	valueCount
}

// v03ResultPB returns the message of a result; nil if it has to go through JSON.
func v03ResultPB(result any) (out proto.Message, err error) {
	c := v03PB{valueCount: valueCount{maxProtoValues}}
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
	if c.odd {
		out = nil
	}
	return out, c.err()
}

// v03ElementPB is v03ResultPB for an element of a stream, which may be the last.
func v03ElementPB(el *a2a.StreamResponse, final bool) (out *v03.StreamResponse, err error) {
	c := v03PB{valueCount: valueCount{maxProtoValues}}
	out = new(v03.StreamResponse)
	switch {
	case el.Task != nil:
		out.Payload = &v03.StreamResponse_Task{Task: c.task(el.Task)}
	case el.Message != nil:
		out.Payload = &v03.StreamResponse_Msg{Msg: c.message(el.Message)}
	case el.StatusUpdate != nil:
		u := el.StatusUpdate
		out.Payload = &v03.StreamResponse_StatusUpdate{StatusUpdate: &v03.TaskStatusUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Status: c.status(&u.Status), Final: final, Metadata: c.json(u.Metadata),
		}}
	case el.ArtifactUpdate != nil:
		u := el.ArtifactUpdate
		out.Payload = &v03.StreamResponse_ArtifactUpdate{ArtifactUpdate: &v03.TaskArtifactUpdateEvent{
			TaskId: utf(u.TaskID), ContextId: utf(u.ContextID), Artifact: c.artifact(orEmpty(u.Artifact)), Append: u.Append, LastChunk: u.LastChunk,
			Metadata: c.json(u.Metadata),
		}}
	default:
		return nil, nil
	}
	if c.odd {
		out = nil
	}
	return out, c.err()
}

// json converts an object that nests no deeper than requests may.
func (c *v03PB) json(v a2a.JSON) *structpb.Struct {
	switch {
	case len(v) == 0:
		return nil
	case v[0] != '{' || !json.Valid(v, a2a.MaxDepth):
		c.count(v)
		c.odd = true
		return nil
	}
	return c.object(v)
}

func (c *v03PB) task(t *a2a.Task) *v03.Task {
	return &v03.Task{
		Id: utf(t.ID), ContextId: utf(t.ContextID), Status: c.status(&t.Status),
		Artifacts: each(t.Artifacts, c.artifact), History: each(t.History, c.message), Metadata: c.json(t.Metadata),
	}
}

func (c *v03PB) status(s *a2a.TaskStatus) *v03.TaskStatus {
	out := &v03.TaskStatus{State: v03.TaskState(s.State), Timestamp: c.time(s.Timestamp)}
	if s.Message != nil {
		out.Update = c.message(s.Message)
	}
	if s.State != a2a.TaskStateUnspecified && !s.State.Valid() {
		c.odd = true
	}
	return out
}

func (c *v03PB) time(t time.Time) *timestamppb.Timestamp {
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		c.odd = true // JSON has no such time
	}
	return timePB(t)
}

func (c *v03PB) message(m *a2a.Message) *v03.Message {
	if m.Role < a2a.RoleUnspecified || m.Role > a2a.RoleAgent {
		c.odd = true
	}
	return &v03.Message{
		MessageId: utf(m.MessageID), ContextId: utf(m.ContextID), TaskId: utf(m.TaskID), Role: v03.Role(m.Role),
		Content: each(m.Parts, c.part), Metadata: c.json(m.Metadata), Extensions: utfs(m.Extensions), ReferenceTaskIds: utfs(m.ReferenceTaskIDs),
	}
}

func (c *v03PB) artifact(a *a2a.Artifact) *v03.Artifact {
	return &v03.Artifact{
		ArtifactId: utf(a.ArtifactID), Name: utf(a.Name), Description: utf(a.Description),
		Parts: each(a.Parts, c.part), Metadata: c.json(a.Metadata), Extensions: utfs(a.Extensions),
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
			Part:     &v03.Part_Data{Data: &v03.DataPart{Data: c.json(data)}},
			Metadata: c.json(mimeMetadata(metadata, p.MediaType)),
		}
	}
	return &v03.Part{Part: &v03.Part_Text{Text: utf(p.Text)}, Metadata: c.json(mimeMetadata(p.Metadata, p.MediaType))}
}

func (c *v03PB) file(p *a2a.Part, f *v03.FilePart) *v03.Part {
	f.MimeType, f.Name = utf(p.MediaType), utf(p.Filename)
	return &v03.Part{Part: &v03.Part_File{File: f}, Metadata: c.json(p.Metadata)}
}
