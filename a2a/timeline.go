package a2a

import (
	"iter"
	"slices"
)

// Additions of the 1.1 draft to the history of a task (docs/draft-1.1.md).

// TimelineEntry is one entry of Task.Timeline: a message of the client's or a status,
// with the generation of the task after it. An entry with neither is of a later
// version; readers skip it.
type TimelineEntry struct {
	Generation int64       `json:"generation,omitempty,string"` // in front of the oneof, which ends an object
	Message    *Message    `json:"message" form:"oneof"`
	Status     *TaskStatus `json:"status" form:"oneof"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// ElicitationState is the state of a question to the client. The numbers are those of
// the protocol's enumeration.
type ElicitationState int32

const (
	ElicitationUnspecified ElicitationState = 0
	ElicitationWaiting     ElicitationState = 1 // the agent works on meanwhile
	ElicitationBlocked     ElicitationState = 2 // the agent needs the answer
	ElicitationResolved    ElicitationState = 3 // answered, or withdrawn
)

var elicitationStates = newEnum[ElicitationState]("the state of an elicitation", "",
	"ELICITATION_STATE_UNSPECIFIED", "ELICITATION_STATE_WAITING", "ELICITATION_STATE_BLOCKED", "ELICITATION_STATE_RESOLVED")

// String returns the ProtoJSON name, such as ELICITATION_STATE_BLOCKED.
func (s ElicitationState) String() string { return elicitationStates.name(s) }

// Elicitation is a question of the agent's to its client. Its id is unique in its task.
type Elicitation struct {
	ElicitationID string           `json:"elicitationId"`
	State         ElicitationState `json:"state"`
	Metadata      JSON             `json:"metadata,omitempty"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// mergeElicitations returns the list with those of changed: each replaces the one with
// its id, or is added at the end. Neither argument is changed.
func mergeElicitations(list, changed []*Elicitation) []*Elicitation {
	list = slices.Clone(list)
	for _, c := range changed {
		if i := slices.IndexFunc(list, func(e *Elicitation) bool { return e.ElicitationID == c.ElicitationID }); i >= 0 {
			list[i] = c
		} else {
			list = append(list, c)
		}
	}
	return list
}

// TaskMessageUpdateEvent says that a client's message was added to the task.
type TaskMessageUpdateEvent struct {
	TaskID     string   `json:"taskId"`
	ContextID  string   `json:"contextId"`
	Message    *Message `json:"message"`
	Metadata   JSON     `json:"metadata,omitempty"`
	Generation int64    `json:"generation,omitempty,string"`

	Unknown *JSON `json:"-" form:"unknown"` // see Task.Unknown
}

// NextGeneration returns the generation of a task after this entry of its log, given
// the one before it. If a status or an artifact was recorded with a generation, that
// one counts, because earlier releases did not count messages. The first message
// belongs to the creation.
func (e *Entry) NextGeneration(before int64) int64 {
	recorded := int64(0)
	switch e.Kind {
	case EntryCreated:
		return 1
	case EntryMessage:
		if e.Seq <= firstMessage {
			return before
		}
	case EntryStatus:
		if e.Status != nil {
			recorded = e.Status.Generation
		}
	case EntryArtifact:
		if e.Artifact != nil {
			recorded = e.Artifact.Generation
		}
	default:
		return before
	}
	if recorded > 0 {
		return recorded
	}
	return before + 1
}

// firstMessage is the Seq of the message that a task was created for.
const firstMessage = 2

// MessageEvent returns the entry, a message of the client's, as an element of a stream
// of the 1.1 draft; nil if it is the message that the task was created for.
func (e *Entry) MessageEvent(generation int64) *StreamResponse {
	if e.Kind != EntryMessage || e.Seq <= firstMessage || e.Message == nil {
		return nil
	}
	return &StreamResponse{Seq: e.Seq, MessageUpdate: &TaskMessageUpdateEvent{
		TaskID: e.Message.TaskID, ContextID: e.Message.ContextID, Message: e.Message, Generation: generation,
	}}
}

// A Timeline has what the 1.1 draft shows of a task's log beyond the Task.
type Timeline struct {
	// Entries are the last messages and statuses of the log, at least as many as asked
	// for if there are that many.
	Entries []TimelineLog

	generation int64
	asked      []*Elicitation
	spans      map[string]span // of artifacts, by id
}

// TimelineLog is an entry of the log with its generation.
type TimelineLog struct {
	*Entry
	Generation int64
}

type span struct{ start, end int64 }

// ReadTimeline reads a whole log for the n last entries of a timeline. It stops at the
// first error.
func ReadTimeline(log iter.Seq2[*Entry, error], n int) (*Timeline, error) {
	t := &Timeline{spans: map[string]span{}}
	for e, err := range log {
		if err != nil {
			return nil, err
		}
		t.add(e, n)
	}
	return t, nil
}

func (t *Timeline) add(e *Entry, n int) {
	t.generation = e.NextGeneration(t.generation)
	switch e.Kind {
	case EntryArtifact:
		t.span(e.Artifact)
	case EntryMessage, EntryStatus:
		if e.Status != nil && len(e.Status.Status.Elicitations) > 0 {
			t.asked = mergeElicitations(t.asked, e.Status.Status.Elicitations)
		}
		// Logs of earlier releases did not count messages: no entry may have a higher
		// generation than the next.
		for i := len(t.Entries) - 1; i >= 0 && t.Entries[i].Generation > t.generation; i-- {
			t.Entries[i].Generation = t.generation
		}
		if n <= 0 {
			return
		}
		if len(t.Entries) >= 2*n { // only at times, so that the cost does not grow with n
			t.Entries = append(t.Entries[:0], t.Entries[len(t.Entries)-n+1:]...)
		}
		t.Entries = append(t.Entries, TimelineLog{e, t.generation})
	}
}

func (t *Timeline) span(e *TaskArtifactUpdateEvent) {
	if e == nil || e.Artifact == nil {
		return
	}
	s, known := t.spans[e.Artifact.ArtifactID]
	if !known || !e.Append {
		s = span{start: t.generation}
	}
	if s.end = 0; e.LastChunk {
		s.end = t.generation
	}
	t.spans[e.Artifact.ArtifactID] = s
}

// Of returns the task with its timeline of at most n entries. It shares what it can
// with t, which stays as it is.
func (t *Timeline) Of(task *Task, n int) *Task {
	c := *task
	c.Timeline, c.Elicitations = nil, t.asked
	entries := t.Entries[max(0, len(t.Entries)-max(n, 0)):]
	for _, e := range entries {
		out := &TimelineEntry{Generation: e.Generation}
		if e.Kind == EntryMessage {
			out.Message = e.Message
		} else {
			out.Status = &e.Status.Status
		}
		c.Timeline = append(c.Timeline, out)
	}
	c.Artifacts = slices.Clone(task.Artifacts)
	for i, a := range c.Artifacts {
		if s, ok := t.spans[a.ArtifactID]; ok {
			copied := *a
			copied.StartGeneration, copied.EndGeneration = s.start, s.end
			c.Artifacts[i] = &copied
		}
	}
	return &c
}
