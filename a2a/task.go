package a2a

import (
	"slices"
	"time"
)

// TaskState is the state of a task (specification §4.1.3). The numbers are those of the
// protocol's TaskState enumeration.
type TaskState int32

const (
	TaskStateUnspecified   TaskState = 0
	TaskStateSubmitted     TaskState = 1
	TaskStateWorking       TaskState = 2
	TaskStateCompleted     TaskState = 3
	TaskStateFailed        TaskState = 4
	TaskStateCanceled      TaskState = 5
	TaskStateInputRequired TaskState = 6
	TaskStateRejected      TaskState = 7
	TaskStateAuthRequired  TaskState = 8
)

var taskStates = func() *enum[TaskState] {
	e := newEnum[TaskState]("a task state", "TASK_STATE_",
		"TASK_STATE_UNSPECIFIED", "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING",
		"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED",
		"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_REJECTED", "TASK_STATE_AUTH_REQUIRED")
	e.values["cancelled"], e.values["TASK_STATE_CANCELLED"] = TaskStateCanceled, TaskStateCanceled
	return e
}()

// TaskStates lists every real state, in the order of their numbers.
func TaskStates() (all []TaskState) {
	for s := TaskStateSubmitted; s.Valid(); s++ {
		all = append(all, s)
	}
	return all
}

// String returns the ProtoJSON name, such as TASK_STATE_WORKING.
func (s TaskState) String() string { return taskStates.name(s) }

// MarshalText returns the ProtoJSON name.
func (s TaskState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a ProtoJSON name or a spelling of version 0.x, such as
// input-required.
func (s *TaskState) UnmarshalText(name []byte) error { return taskStates.unmarshalText(name, s) }

// Valid reports whether s is one of the eight real states.
func (s TaskState) Valid() bool { return s > 0 && int(s) < len(taskStates.names) }

// Terminal reports whether a task in this state is finished for good.
func (s TaskState) Terminal() bool {
	switch s {
	case TaskStateCompleted, TaskStateFailed, TaskStateCanceled, TaskStateRejected:
		return true
	}
	return false
}

// Interrupted reports whether the task waits for its client.
func (s TaskState) Interrupted() bool {
	return s == TaskStateInputRequired || s == TaskStateAuthRequired
}

// ParseTaskState reads a ProtoJSON name. The second result is false if the
// name is not one of the enumeration's.
func ParseTaskState(name string) (TaskState, bool) {
	i := slices.Index(taskStates.names, name)
	return TaskState(max(i, 0)), i >= 0
}

// Task is the unit of work (specification §4.1.1).
type Task struct {
	ID        string      `json:"id"`
	ContextID string      `json:"contextId,omitempty"`
	Status    TaskStatus  `json:"status"`
	Artifacts []*Artifact `json:"artifacts,omitempty"`
	History   []*Message  `json:"history,omitempty"`
	Metadata  JSON        `json:"metadata,omitempty"` // an object, or empty

	// Generation counts the changes of status and artifacts and the client's messages
	// after the first one, from 1 when the task is created; 0 if it is not known. It is
	// part of the 1.1 draft.
	Generation int64 `json:"generation,omitempty,string" form:"draft"`

	// Timeline has the messages of clients and the statuses in the order of their
	// generations, if the request asks for it: see GetTaskRequest.TimelineLength. It is
	// part of the 1.1 draft.
	Timeline []*TimelineEntry `json:"timeline,omitempty" form:"draft"`

	// Elicitations are all questions of the agent to its client, in their present
	// state. They come with Timeline.
	Elicitations []*Elicitation `json:"elicitations,omitempty" form:"draft"`

	// Version is that of the protocol in which the task was created. It is not
	// part of the JSON form.
	Version Version `json:"-"`

	// Unknown is an object of the members that this version of the package does not
	// know, in what a client reads; nil if there are none. AppendJSON writes them after
	// the others. Other types have the same field.
	Unknown *JSON `json:"-" form:"unknown"`

	// Encoded is the task's JSON as it is stored, in the answer to a request that allows
	// it (GetTaskRequest.Encoded); otherwise it is nil. AppendJSON writes it. Of the
	// other fields only ID, ContextID, Generation, Version and the status without its
	// message are set; Decode sets all.
	Encoded *EncodedTask `json:"-"`
}

// TaskStatus is a task's state with the agent's words about it (§4.1.2).
type TaskStatus struct {
	State     TaskState `json:"state"`
	Message   *Message  `json:"message,omitempty"`
	Timestamp time.Time `json:"timestamp,omitzero"` // UTC, millisecond precision on the wire; zero means unset

	// Elicitations are those that were asked or answered with this status (1.1 draft).
	Elicitations []*Elicitation `json:"elicitations,omitempty" form:"draft"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// Artifact is an output of a task (§4.1.7). Its id is unique in its task.
type Artifact struct {
	ArtifactID  string   `json:"artifactId"`
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Parts       []*Part  `json:"parts"` // at least one
	Metadata    JSON     `json:"metadata,omitempty"`
	Extensions  []string `json:"extensions,omitempty"`

	// The task's Generation when the artifact began, and when it was complete; 0 if
	// that is not known. They come with Task.Timeline, and are part of the 1.1 draft.
	StartGeneration int64 `json:"startGeneration,omitempty,string" form:"draft"`
	EndGeneration   int64 `json:"endGeneration,omitempty,string" form:"draft"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// TaskStatusUpdateEvent says that a task's status changed (§4.2.1).
type TaskStatusUpdateEvent struct {
	TaskID    string     `json:"taskId"`
	ContextID string     `json:"contextId"`
	Status    TaskStatus `json:"status"`
	Metadata  JSON       `json:"metadata,omitempty"`

	Generation int64 `json:"generation,omitempty,string" form:"draft"` // of the task, with this change; 0 if it is not known

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// TaskArtifactUpdateEvent carries an artifact or a chunk of one (§4.2.2).
type TaskArtifactUpdateEvent struct {
	TaskID    string    `json:"taskId"`
	ContextID string    `json:"contextId"`
	Artifact  *Artifact `json:"artifact"`
	Append    bool      `json:"append,omitempty"`    // add Artifact.Parts to the artifact of the same id; false replaces it
	LastChunk bool      `json:"lastChunk,omitempty"` // nothing more will be appended
	Metadata  JSON      `json:"metadata,omitempty"`

	Generation int64 `json:"generation,omitempty,string" form:"draft"` // of the task, with this change; 0 if it is not known

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// StreamResponse is one element of a stream (§3.2.3): exactly one of the five
// pointers is set. A StreamResponse handed out by a Service is shared by its
// readers and must not be changed.
type StreamResponse struct {
	Task           *Task                    `json:"task" form:"oneof"`
	Message        *Message                 `json:"message" form:"oneof"`
	StatusUpdate   *TaskStatusUpdateEvent   `json:"statusUpdate" form:"oneof"`
	ArtifactUpdate *TaskArtifactUpdateEvent `json:"artifactUpdate" form:"oneof"`
	MessageUpdate  *TaskMessageUpdateEvent  `json:"messageUpdate" form:"oneof,draft"` // only for readers that ask for them: see SubscribeToTaskRequest.Timeline

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown

	// Seq is the position in the task's log that a reader has reached with this
	// element; 0 if the server keeps no log. It is not part of the JSON form; on SSE it
	// is the event's id.
	Seq int64 `json:"-"`

	// More says that another element, or the end of the stream, follows at once, so
	// that a writer may gather before it sends. It is a hint, and not part of the
	// JSON form.
	More bool `json:"-"`

	// Shared holds the encodings that all readers of the element share; nil if they
	// share none. A copy with another JSON form must not have it.
	Shared *Shared `json:"-"`
}

// TaskID returns the id of the task the element speaks of, or "".
func (r *StreamResponse) TaskID() string {
	switch {
	case r.Task != nil:
		return r.Task.ID
	case r.Message != nil:
		return r.Message.TaskID
	case r.StatusUpdate != nil:
		return r.StatusUpdate.TaskID
	case r.ArtifactUpdate != nil:
		return r.ArtifactUpdate.TaskID
	case r.MessageUpdate != nil:
		return r.MessageUpdate.TaskID
	}
	return ""
}

// State returns the task state that the element reports, or TaskStateUnspecified if it
// reports none.
func (r *StreamResponse) State() TaskState {
	switch {
	case r.Task != nil:
		return r.Task.Status.State
	case r.StatusUpdate != nil:
		return r.StatusUpdate.Status.State
	}
	return TaskStateUnspecified
}
