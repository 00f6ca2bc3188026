package a2a

import (
	"strings"
)

// MarshalText returns the ProtoJSON name.
func (s TaskState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a ProtoJSON name or a spelling of version 0.x, such as
// input-required.
func (s *TaskState) UnmarshalText(name []byte) error {
	v, ok := lenientTaskState(string(name))
	if !ok {
		return Errorf(CodeInvalidParams, "%s is not a task state; use %s", excerpt(name), taskStateList)
	}
	*s = v
	return nil
}

// lenientTaskState reads every spelling that was ever published: drafts and
// samples of 1.0 still have those of version 0.x, and two Ls in canceled.
func lenientTaskState(name string) (TaskState, bool) {
	if s, ok := ParseTaskState(name); ok {
		return s, true
	}
	switch name {
	case "submitted":
		return TaskStateSubmitted, true
	case "working":
		return TaskStateWorking, true
	case "completed":
		return TaskStateCompleted, true
	case "failed":
		return TaskStateFailed, true
	case "canceled", "cancelled", "TASK_STATE_CANCELLED":
		return TaskStateCanceled, true
	case "input-required":
		return TaskStateInputRequired, true
	case "rejected":
		return TaskStateRejected, true
	case "auth-required":
		return TaskStateAuthRequired, true
	}
	return 0, false
}

var taskStateList = strings.Join(taskStateNames[1:len(taskStateNames)-1], ", ") + " or " + taskStateNames[len(taskStateNames)-1]

func (s *TaskState) decode(d *decoder) *fault {
	return enum(d, s, lenientTaskState, TaskStateAuthRequired, "a task state", taskStateList)
}

// AppendJSON appends the ProtoJSON form.
func (t *Task) AppendJSON(b []byte) []byte { return t.appendWith(b, t.Generation) }

// AppendPlain appends the ProtoJSON form of version 1.0, which has no
// generation.
func (t *Task) AppendPlain(b []byte) []byte { return t.appendWith(b, 0) }

func (t *Task) appendWith(b []byte, generation int64) []byte {
	if t.Encoded != nil {
		return t.Encoded.append(b, generation)
	}
	b = t.appendStart(b)
	b = optObjects(b, "artifacts", t.Artifacts)
	b = optObjects(b, "history", t.History)
	b = optRaw(b, "metadata", t.Metadata)
	b = optInt64(b, "generation", generation)
	return append(b, '}')
}

// appendStart appends what is in front of the artifacts.
func (t *Task) appendStart(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "id", t.ID)
	b = optText(b, "contextId", t.ContextID)
	return t.Status.AppendJSON(key(b, "status"))
}

// MarshalJSON returns the ProtoJSON form.
func (t Task) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (t *Task) UnmarshalJSON(doc []byte) error { return unmarshal(doc, t) }

func (t *Task) decode(d *decoder) *fault {
	*t = Task{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "id":
			return d.string(&t.ID)
		case "contextId", "context_id":
			return d.string(&t.ContextID)
		case "status":
			return plain(d, &t.Status)
		case "artifacts":
			return list(d, &t.Artifacts)
		case "history":
			return list(d, &t.History)
		case "metadata":
			return d.free(&t.Metadata)
		case "generation":
			return d.int64(&t.Generation)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (s *TaskStatus) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "state", s.State.String())
	b = optObject(b, "message", s.Message)
	b = optTime(b, "timestamp", s.Timestamp)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (s TaskStatus) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (s *TaskStatus) UnmarshalJSON(doc []byte) error { return unmarshal(doc, s) }

func (s *TaskStatus) decode(d *decoder) *fault {
	*s = TaskStatus{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "state":
			return s.State.decode(d)
		case "message":
			return pointer(d, &s.Message)
		case "timestamp":
			return d.time(&s.Timestamp)
		}
		return d.ignore()
	})
}

// AppendJSON appends the ProtoJSON form.
func (a *Artifact) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	b = text(b, "artifactId", a.ArtifactID)
	b = optText(b, "name", a.Name)
	b = optText(b, "description", a.Description)
	b = objects(b, "parts", a.Parts)
	b = optRaw(b, "metadata", a.Metadata)
	b = optTexts(b, "extensions", a.Extensions)
	return append(b, '}')
}

// MarshalJSON returns the ProtoJSON form.
func (a Artifact) MarshalJSON() ([]byte, error) { return a.AppendJSON(nil), nil }

// UnmarshalJSON reads the ProtoJSON form.
func (a *Artifact) UnmarshalJSON(doc []byte) error { return unmarshal(doc, a) }

func (a *Artifact) decode(d *decoder) *fault {
	*a = Artifact{}
	return d.object(func(name []byte) *fault {
		switch string(name) {
		case "artifactId", "artifact_id":
			return d.string(&a.ArtifactID)
		case "name":
			return d.string(&a.Name)
		case "description":
			return d.string(&a.Description)
		case "parts":
			return parts(d, &a.Parts, 0)
		case "metadata":
			return d.free(&a.Metadata)
		case "extensions":
			return d.strings(&a.Extensions)
		}
		return d.ignore()
	})
}
