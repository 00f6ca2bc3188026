package a2a

import "time"

// EntryKind says what an Entry of a task's log records.
type EntryKind uint8

const (
	// EntryCreated is the first entry of every log. The task is submitted.
	EntryCreated EntryKind = 1 + iota
	// EntryMessage is a message of the client's, joined to the history.
	EntryMessage
	// EntryStatus is a change of status.
	EntryStatus
	// EntryArtifact is an artifact or a chunk of one.
	EntryArtifact
	// EntryStep is the recorded result of a step that runs once per task.
	EntryStep
	// EntryCancel says that somebody asked to cancel the task.
	EntryCancel
)

// Entry is one element of a task's log, the only truth about the task. Seq
// counts 1, 2, 3 … without gaps. The pointer that belongs to Kind is set.
// Entries are immutable once made.
type Entry struct {
	Seq  int64
	Time time.Time // UTC, milliseconds
	Kind EntryKind

	Created  *Created
	Message  *Message
	Received *Received // what came along with Message; may be nil
	Status   *TaskStatusUpdateEvent
	Artifact *TaskArtifactUpdateEvent
	Step     *Step
	Cancel   *CancelRequested
}

// Created is the body of EntryCreated.
type Created struct {
	TaskID    string
	ContextID string
	Metadata  JSON   // the task's metadata
	Version   string // of the protocol, if before 1.0: see Task.Version
}

// Step is the body of EntryStep: the n-th recorded step of a turn.
type Step struct {
	Name   string
	Result JSON
}

// CancelRequested is the body of EntryCancel.
type CancelRequested struct {
	Subject  string // who asked; "" if anonymous
	Metadata JSON   // of the CancelTaskRequest
}

// Received is what came with an EntryMessage besides the message: a run after
// a crash finds it again.
type Received struct {
	AcceptedOutputModes []string
	Extensions          []string // URIs that the client declared
	Metadata            JSON     // of the SendMessageRequest
	Hops                int      // see Caller.Hops
	Trace               string   // see Caller.Trace
	// Credentials says that the message answered a task that needed
	// authorization: what it said went to the agent and was not kept.
	Credentials bool
}
