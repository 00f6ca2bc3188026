package dialect

import (
	"strconv"
	"time"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/pb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// reader converts a message and collects what is wrong with it.
type reader struct {
	depth  int  // of JSON values
	answer bool // of a server
	faults
}

func readEach[P, T any](path string, list []*P, convert func(string, *P) *T) []*T {
	if len(list) == 0 {
		return nil
	}
	out := make([]*T, len(list))
	for i, v := range list {
		out[i] = convert(path+"["+strconv.Itoa(i)+"]", v)
	}
	return out
}

func (r *reader) object(path string, s *structpb.Struct) a2a.JSON {
	if s == nil {
		return nil
	}
	j, err := appendStruct(nil, s, r.depth)
	if err != nil {
		r.add(path, err.Error())
	}
	return j
}

func (r *reader) value(path string, v *structpb.Value) a2a.JSON {
	j, err := appendValue(nil, v, r.depth)
	if err != nil {
		r.add(path, err.Error())
	}
	return j
}

func (r *reader) time(path string, t *timestamppb.Timestamp) time.Time {
	if t == nil {
		return time.Time{}
	}
	if t.CheckValid() != nil {
		r.add(path, "is not a timestamp of the years 1 to 9999")
		return time.Time{}
	}
	return t.AsTime().Truncate(time.Millisecond)
}

// enum reads a value of an enumeration with these names. In an answer, a value of a
// later version becomes the unspecified one, as in JSON.
func enum[T, E ~int32](r *reader, path string, v E, names map[int32]string, what string) T {
	if _, ok := names[int32(v)]; !ok {
		if !r.answer {
			r.add(path, strconv.Itoa(int(v))+" is not "+what)
		}
		v = 0
	}
	return T(v)
}

func (r *reader) sendRequest(m *pb.SendMessageRequest) *a2a.SendMessageRequest {
	out := &a2a.SendMessageRequest{
		Tenant: m.GetTenant(), Message: r.message("message", m.GetMessage()), Metadata: r.object("metadata", m.GetMetadata()),
	}
	if c := m.GetConfiguration(); c != nil {
		out.Configuration = &a2a.SendMessageConfiguration{
			AcceptedOutputModes: c.GetAcceptedOutputModes(), HistoryLength: c.HistoryLength, ReturnImmediately: c.GetReturnImmediately(),
			IfGenerationMatch:          c.IfGenerationMatch,
			TimelineLength:             c.TimelineLength,
			TaskPushNotificationConfig: r.push(c.GetTaskPushNotificationConfig()),
		}
	}
	return out
}

func (r *reader) streamResponse(m *pb.StreamResponse) *a2a.StreamResponse {
	out := &a2a.StreamResponse{
		Task: r.task("task", m.GetTask()), Message: r.message("message", m.GetMessage()), Seq: m.GetSeq(),
	}
	if u := m.GetStatusUpdate(); u != nil {
		out.StatusUpdate = &a2a.TaskStatusUpdateEvent{
			TaskID: u.GetTaskId(), ContextID: u.GetContextId(),
			Status: r.status("statusUpdate.status", u.GetStatus()), Metadata: r.object("statusUpdate.metadata", u.GetMetadata()),
			Generation: u.GetGeneration(),
		}
	}
	if u := m.GetArtifactUpdate(); u != nil {
		out.ArtifactUpdate = &a2a.TaskArtifactUpdateEvent{
			TaskID: u.GetTaskId(), ContextID: u.GetContextId(), Artifact: r.artifact("artifactUpdate.artifact", u.GetArtifact()),
			Append: u.GetAppend(), LastChunk: u.GetLastChunk(), Metadata: r.object("artifactUpdate.metadata", u.GetMetadata()),
			Generation: u.GetGeneration(),
		}
	}
	if u := m.GetMessageUpdate(); u != nil {
		out.MessageUpdate = &a2a.TaskMessageUpdateEvent{
			TaskID: u.GetTaskId(), ContextID: u.GetContextId(), Message: r.message("messageUpdate.message", u.GetMessage()),
			Metadata: r.object("messageUpdate.metadata", u.GetMetadata()), Generation: u.GetGeneration(),
		}
	}
	return out
}

func (r *reader) task(path string, t *pb.Task) *a2a.Task {
	if t == nil {
		return nil
	}
	return &a2a.Task{
		ID: t.GetId(), ContextID: t.GetContextId(), Status: r.status(under(path, "status"), t.GetStatus()),
		Artifacts:    readEach(under(path, "artifacts"), t.GetArtifacts(), r.artifact),
		History:      readEach(under(path, "history"), t.GetHistory(), r.message),
		Metadata:     r.object(under(path, "metadata"), t.GetMetadata()),
		Generation:   t.GetGeneration(),
		Timeline:     readEach(under(path, "timeline"), t.GetTimeline(), r.timeline),
		Elicitations: readEach(under(path, "elicitations"), t.GetElicitations(), r.elicitation),
	}
}

// timeline omits what it does not know of an entry.
func (r *reader) timeline(path string, e *pb.TimelineEntry) *a2a.TimelineEntry {
	out := &a2a.TimelineEntry{Generation: e.GetGeneration(), Message: r.message(under(path, "message"), e.GetMessage())}
	if s := e.GetStatus(); s != nil {
		out.Status = new(r.status(under(path, "status"), s))
	}
	return out
}

func (r *reader) elicitation(path string, e *pb.Elicitation) *a2a.Elicitation {
	state := enum[a2a.ElicitationState](r, under(path, "state"), e.GetState(), pb.ElicitationState_name, "the state of an elicitation")
	return &a2a.Elicitation{ElicitationID: e.GetElicitationId(), State: state, Metadata: r.object(under(path, "metadata"), e.GetMetadata())}
}

func (r *reader) status(path string, s *pb.TaskStatus) a2a.TaskStatus {
	return a2a.TaskStatus{
		State:        enum[a2a.TaskState](r, under(path, "state"), s.GetState(), pb.TaskState_name, "a task state"),
		Message:      r.message(under(path, "message"), s.GetMessage()),
		Timestamp:    r.time(under(path, "timestamp"), s.GetTimestamp()),
		Elicitations: readEach(under(path, "elicitations"), s.GetElicitations(), r.elicitation),
	}
}

func (r *reader) message(path string, m *pb.Message) *a2a.Message {
	if m == nil {
		return nil
	}
	return &a2a.Message{
		MessageID: m.GetMessageId(), ContextID: m.GetContextId(), TaskID: m.GetTaskId(),
		Role:     enum[a2a.Role](r, under(path, "role"), m.GetRole(), pb.Role_name, "a role; use ROLE_USER or ROLE_AGENT"),
		Parts:    readEach(under(path, "parts"), m.GetParts(), r.part),
		Metadata: r.object(under(path, "metadata"), m.GetMetadata()), Extensions: m.GetExtensions(), ReferenceTaskIDs: m.GetReferenceTaskIds(),
		ElicitationIDs: m.GetElicitationIds(),
	}
}

func (r *reader) artifact(path string, a *pb.Artifact) *a2a.Artifact {
	if a == nil {
		return nil
	}
	return &a2a.Artifact{
		ArtifactID: a.GetArtifactId(), Name: a.GetName(), Description: a.GetDescription(),
		Parts:    readEach(under(path, "parts"), a.GetParts(), r.part),
		Metadata: r.object(under(path, "metadata"), a.GetMetadata()), Extensions: a.GetExtensions(),
		StartGeneration: a.GetStartGeneration(), EndGeneration: a.GetEndGeneration(),
	}
}

func (r *reader) part(path string, p *pb.Part) *a2a.Part {
	out := &a2a.Part{Metadata: r.object(under(path, "metadata"), p.GetMetadata()), Filename: p.GetFilename(), MediaType: p.GetMediaType()}
	switch c := p.GetContent().(type) {
	case *pb.Part_Text:
		out.Kind, out.Text = a2a.PartText, c.Text
	case *pb.Part_Raw:
		out.Kind, out.Raw = a2a.PartRaw, c.Raw
	case *pb.Part_Url:
		out.Kind, out.URL = a2a.PartURL, c.Url
	case *pb.Part_Data:
		out.Kind, out.Data = a2a.PartData, r.value(under(path, "data"), c.Data)
	case nil:
		if r.answer {
			// Of a later version; its name is not on the wire.
			out.Kind, out.Data = a2a.PartUnknown, out.AppendJSON(nil)
		}
	}
	return out
}

func (r *reader) push(c *pb.TaskPushNotificationConfig) *a2a.TaskPushNotificationConfig {
	if c == nil {
		return nil
	}
	out := &a2a.TaskPushNotificationConfig{Tenant: c.GetTenant(), ID: c.GetId(), TaskID: c.GetTaskId(), URL: c.GetUrl(), Token: a2a.Secret(c.GetToken()), ProtocolVersion: c.GetProtocolVersion()}
	if a := c.GetAuthentication(); a != nil {
		out.Authentication = &a2a.AuthenticationInfo{Scheme: a.GetScheme(), Credentials: a2a.Secret(a.GetCredentials())}
	}
	return out
}

// pageSize returns nil for zero. The field has presence and a minimum of 1, so by its
// text a zero that was set is an error; but a2a-go 2.3.1 sets zero whenever its caller
// gave none.
func pageSize(m *pb.ListTasksRequest) *int32 {
	if m.GetPageSize() == 0 {
		return nil
	}
	return m.PageSize
}
