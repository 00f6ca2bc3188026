package dialect

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/a2a"
)

// A client of 0.1 reads whichever form it finds. A server of several versions may
// answer in the form of 0.3 if a call has the same name there; then contexts,
// artifacts, messages and chunks have the names of 0.3.

// v01Asked returns what a client knows of the task that an answer is about. The
// answer's own ids are not trusted: published samples repeat the id of the request
// there, as a number.
func v01Asked(req any) (id, contextID string) {
	if r, ok := req.(*a2a.SendMessageRequest); ok && r.Message != nil {
		contextID = r.Message.ContextID
	}
	return SubjectOf(req).Task, contextID
}

// DecodeResult returns TaskNotFound, as 1.0 does, if an answer has no webhook: 0.1 has
// no error for that.
func (v01Codec) DecodeResult(op Op, req any, doc []byte) (any, error) {
	res, err := readAnswer(form01, op, doc, func(o *object) any { return o.v01Result(op, req) })
	if c, ok := res.(*a2a.TaskPushNotificationConfig); ok && (c == nil || c.URL == "") {
		return nil, a2a.Errorf(a2a.CodeTaskNotFound, "the agent knows no webhook of this task")
	}
	return res, err
}

func (o *object) v01Result(op Op, req any) any {
	switch op {
	case SendMessage:
		return &a2a.SendMessageResponse{Task: o.v01Task(req)}
	case GetTask, CancelTask:
		return o.v01Task(req)
	case CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig:
		id, _ := v01Asked(req)
		return o.object("pushNotificationConfig").v01Webhook(id)
	}
	panic("dialect: version 0.1 has no " + op.String())
}

func (v01Codec) DecodeEvent(op Op, req any, doc []byte) ([]*a2a.StreamResponse, error) {
	return readAnswer(form01, op, doc, func(o *object) []*a2a.StreamResponse { return o.v01Event(req) })
}

// v01Event reads an event by its members. Servers that do not stream send a whole task
// instead of events.
func (o *object) v01Event(req any) []*a2a.StreamResponse {
	id, contextID := v01Asked(req)
	switch {
	case o.has("status", "state") && (o.has("artifacts", "history", "sessionId") || o.text("kind") == "task"):
		return []*a2a.StreamResponse{{Task: o.v01Task(req)}}
	case o.has("status", "state"):
		return []*a2a.StreamResponse{{StatusUpdate: &a2a.TaskStatusUpdateEvent{
			TaskID: id, ContextID: contextID, Status: o.v01Status(id, contextID), Metadata: o.json("metadata"),
		}}}
	}
	var els []*a2a.StreamResponse
	add := func(in *object) {
		if in == nil {
			return
		}
		u := &a2a.TaskArtifactUpdateEvent{TaskID: id, ContextID: contextID, Metadata: o.json("metadata")}
		u.Append, u.LastChunk = in.truth("append") || o.truth("append"), in.truth("lastChunk") || o.truth("lastChunk")
		u.Artifact = in.v01Artifact(len(els))
		els = append(els, &a2a.StreamResponse{ArtifactUpdate: u})
	}
	if raw, _ := o.find([]string{"artifact"}); len(raw) > 0 && raw[0] == '[' {
		o.each(add, "artifact") // a sample has square brackets
	} else {
		add(o.object("artifact"))
	}
	return els
}

func (o *object) v01Task(req any) *a2a.Task {
	t := &a2a.Task{Metadata: o.json("metadata")}
	t.ID, t.ContextID = v01Asked(req)
	t.ContextID = cmp.Or(o.text("sessionId", "contextId"), t.ContextID)
	if !o.has("status", "state") {
		o.bad("status", "is required")
	}
	t.Status = o.v01Status(t.ID, t.ContextID)
	ids := map[string]bool{}
	o.each(func(in *object) {
		a := in.v01Artifact(len(t.Artifacts))
		for n := len(t.Artifacts); ids[a.ArtifactID]; n++ { // all are 0 if a server does not number them
			a.ArtifactID = v01ArtifactID(n)
		}
		ids[a.ArtifactID] = true
		t.Artifacts = append(t.Artifacts, a)
	}, "artifacts")
	o.each(func(in *object) {
		t.History = append(t.History, in.v01Message(t.ID, t.ContextID, a2a.RoleUnspecified))
	}, "history")
	if n := len(t.History); n > 0 && t.Status.Message != nil && t.History[n-1].MessageID == t.Status.Message.MessageID {
		t.History = slices.Clip(t.History[:n-1])
	}
	return t
}

// v01Status reads a status; one sample has its members in the event itself.
func (o *object) v01Status(id, contextID string) a2a.TaskStatus {
	s := o
	if o.has("status") {
		s = o.object("status")
	}
	if s == nil {
		return a2a.TaskStatus{}
	}
	out := a2a.TaskStatus{State: s.state("state"), Timestamp: s.time("timestamp")}
	if m := s.object("message"); m != nil {
		out.Message = m.v01Message(id, contextID, a2a.RoleAgent)
	}
	return out
}

// v01Message reads a message of a server's. Its id is derived from its content.
func (o *object) v01Message(taskID, contextID string, role a2a.Role) *a2a.Message {
	m := &a2a.Message{Parts: o.parts(), Metadata: o.json("metadata"), Role: cmp.Or(o.role("role"), role)}
	if m.MessageID = o.text("messageId"); m.MessageID == "" {
		sum := sha256.Sum256(m.AppendJSON(nil))
		m.MessageID = hex.EncodeToString(sum[:16])
	}
	m.TaskID, m.ContextID = taskID, contextID
	return m
}

// v01Artifact reads an artifact. position is its place among those of the same
// document, for servers that do not number them.
func (o *object) v01Artifact(position int) *a2a.Artifact {
	a := &a2a.Artifact{Name: o.text("name"), Description: o.text("description"), Parts: o.parts(), Metadata: o.json("metadata")}
	if n := o.int32("index"); n != nil {
		position = int(*n)
	}
	if a.ArtifactID = o.text("artifactId"); a.ArtifactID == "" {
		a.ArtifactID = v01ArtifactID(position)
	}
	if raw, ok := member(a.Metadata, v01ArtifactIDMember); ok && len(raw) > 2 && raw[0] == '"' {
		a.ArtifactID = unquoteText(raw)
		a.Metadata = withoutMember(a.Metadata, v01ArtifactIDMember)
	}
	return a
}

func v01ArtifactID(index int) string { return "index-" + strconv.Itoa(index) }
