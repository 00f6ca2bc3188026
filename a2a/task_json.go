package a2a

import (
	"strings"

	"github.com/parley-a2a/parley/internal/json"
)

// MarshalText returns the ProtoJSON name.
func (s TaskState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a ProtoJSON name or a spelling of version 0.x, such as
// input-required.
func (s *TaskState) UnmarshalText(name []byte) error {
	v, ok := lenientTaskState(string(name))
	if !ok {
		return Errorf(CodeInvalidParams, "%s is not a task state; use %s", json.Excerpt(name), taskStateList)
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

func readTaskState(r *json.Reader, v *TaskState) *json.Fault {
	return readEnum(r, v, lenientTaskState, TaskStateAuthRequired, "a task state", taskStateList)
}

// appendEncoded writes a task that is Encoded.
func appendEncoded(b []byte, t *Task, plain bool) ([]byte, bool) {
	if t.Encoded == nil {
		return b, false
	}
	generation := t.Generation
	if plain {
		generation = 0
	}
	return t.Encoded.append(b, generation), true
}
