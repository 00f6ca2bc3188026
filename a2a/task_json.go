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
	s, ok := taskStatesByName[name]
	return s, ok
}

var taskStatesByName = func() map[string]TaskState {
	all := map[string]TaskState{"cancelled": TaskStateCanceled, "TASK_STATE_CANCELLED": TaskStateCanceled}
	for i, name := range taskStateNames {
		all[name] = TaskState(i)
		if i > 0 {
			short, _ := strings.CutPrefix(name, "TASK_STATE_")
			all[strings.ToLower(strings.ReplaceAll(short, "_", "-"))] = TaskState(i)
		}
	}
	return all
}()

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
