package a2a

import "time"

// EntryKind says what an Entry of a task's log records.
type EntryKind uint8

const (
	// EntryCreated is the first entry of every log. The task is submitted.
	EntryCreated EntryKind = 1 + iota
	// EntryMessage is a message of the client's, added to the history.
	EntryMessage
	// EntryStatus is a change of status.
	EntryStatus
	// EntryArtifact is an artifact or a chunk of one.
	EntryArtifact
	// EntryStep is the recorded result of a step that runs once per task.
	EntryStep
	// EntryCancel says that a caller asked to cancel the task.
	EntryCancel
)

// Entry is one element of a task's log, the only truth about the task. Seq
// counts 1, 2, 3 … without gaps. The pointer that belongs to Kind is set.
// Entries are immutable once made.
type Entry struct {
	Seq  int64     `json:"-"`
	Time time.Time `json:"-"` // UTC, milliseconds
	Kind EntryKind `json:"-"`

	Created  *Created                 `json:"-"`
	Message  *Message                 `json:"message,omitempty"`
	Received *Received                `json:"received,omitempty"` // what came with Message; may be nil
	Status   *TaskStatusUpdateEvent   `json:"statusUpdate,omitempty"`
	Artifact *TaskArtifactUpdateEvent `json:"artifactUpdate,omitempty"`
	Step     *Step                    `json:"-"`
	Cancel   *CancelRequested         `json:"-"`
}

// Created is the body of EntryCreated.
type Created struct {
	TaskID    string  `json:"taskId"`
	ContextID string  `json:"contextId"`
	Metadata  JSON    `json:"metadata,omitempty"` // the task's metadata
	Version   Version `json:"version,omitempty"`  // see Task.Version
}

// Step is the body of EntryStep: a recorded step of a turn. Nth counts the steps of its
// name, from 1. It is zero for the step after those recorded before, as in logs of
// releases whose steps came one after another.
type Step struct {
	Name   string `json:"name"`
	Result JSON   `json:"result,omitempty" form:"any"`
	Nth    int64  `json:"nth,omitempty"`
}

// StepJoin is the prefix of a step's name which says that an artifact's text came in
// chunks and is one text: Apply joins adjacent parts that have nothing but text. The
// log and its streams keep the chunks. The rest of the name is the attempt, a space and
// the id of the artifact.
const StepJoin = "a2a.join "

// CancelRequested is the body of EntryCancel.
type CancelRequested struct {
	Subject  string `json:"subject,omitempty"`  // who asked; "" if anonymous
	Metadata JSON   `json:"metadata,omitempty"` // of the CancelTaskRequest
}

// Received is what came with the message of an EntryMessage, so that a run after a crash
// has it too.
type Received struct {
	AcceptedOutputModes []string `json:"acceptedOutputModes,omitempty"`
	Extensions          []string `json:"extensions,omitempty"` // URIs that the client declared
	Metadata            JSON     `json:"metadata,omitempty"`   // of the SendMessageRequest
	Hops                int      `json:"hops,omitempty"`       // see Caller.Hops
	Trace               string   `json:"trace,omitempty"`      // see Caller.Trace
	TraceState          string   `json:"traceState,omitempty"` // see Caller.TraceState
	// Call is the operation of the call that brought the message and waits for the task,
	// and the traceparent that came with it, if the call is traced: its span is Trace.
	Call string `json:"call,omitempty"`
	// Credentials says that the message answered a task that needed authorization: its
	// content went to the agent and was not stored.
	Credentials bool `json:"credentials,omitempty"`
}
