package a2a

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// Fold returns the task that a whole log, from its first entry on, amounts to.
// It stops at the first error of the log. A log that is empty, does not begin
// with its creation or has a gap is an error.
func Fold(log iter.Seq2[*Entry, error]) (*Task, error) {
	t := new(Task)
	last := int64(0)
	for e, err := range log {
		switch {
		case err != nil:
			return nil, err
		case e.Seq != last+1:
			return nil, fmt.Errorf("fold a task's log: entry %d follows entry %d", e.Seq, last)
		case (last == 0) != (e.Kind == EntryCreated):
			return nil, fmt.Errorf("fold a task's log: entry %d is of kind %d", e.Seq, e.Kind)
		}
		last = e.Seq
		t.Apply(e)
	}
	if last == 0 {
		return nil, fmt.Errorf("fold a task's log: it is empty")
	}
	return t, nil
}

// Apply advances the task by one entry of its log. It leaves it to the engine to judge
// whether the entry may follow. It does not change the entry, though the task may share
// the entry's messages, parts and metadata from then on.
//
//   - The agent's message about a status moves into the history when the next status
//     replaces it, or before the answer when a client answers it. It enters the history
//     once, by its id, unless 256 messages came in between.
//   - A client's message enters the history as often as it is in the log, whatever its
//     id: clients reuse ids, even for other words, and the agent has received each
//     message.
//   - An artifact replaces the one with the same id, or is added; with Append its parts
//     are added, and its other fields, where set, replace those of before.
//   - The metadata of an event is about the event and not kept in the task.
//   - Steps and requests to cancel do not show, except StepJoin.
//
// The cost does not grow with the size of an artifact: a chunk is appended in amortized
// constant time once its artifact is found, in a search that begins with the last one.
//
// Apply changes t's Artifact values in place, so they must belong to t, as those do
// that Fold, Apply, Snapshot and UnmarshalJSON make. It must not be called
// concurrently; readers get a Snapshot.
func (t *Task) Apply(e *Entry) {
	t.Generation = e.NextGeneration(t.Generation)
	switch e.Kind {
	case EntryCreated:
		*t = Task{
			ID: e.Created.TaskID, ContextID: e.Created.ContextID, Metadata: e.Created.Metadata,
			Version: e.Created.Version, Generation: 1,
			Status: TaskStatus{State: TaskStateSubmitted, Timestamp: e.Time.UTC().Truncate(time.Millisecond)},
		}
	case EntryMessage:
		t.addMessage(e.Message)
	case EntryStatus:
		t.setStatus(e.Status)
	case EntryArtifact:
		t.addArtifact(e.Artifact)
	case EntryStep:
		if of, ok := strings.CutPrefix(e.Step.Name, StepJoin); ok {
			_, id, _ := strings.Cut(of, " ")
			t.join(id)
		}
	}
}

// ApplyEvent is Apply for a client, which sees streams and not logs. A Task in the
// stream replaces everything; a direct message belongs to no task and changes nothing.
// Only streams of the 1.1 draft have the messages of clients: in others, the history
// lacks those that came after the last Task element, and a question that another client
// has answered stays in the status until the next status.
func (t *Task) ApplyEvent(r *StreamResponse) {
	switch {
	case r.Task != nil:
		*t = *r.Task.Snapshot()
	case r.StatusUpdate != nil:
		t.name(r.StatusUpdate.TaskID, r.StatusUpdate.ContextID)
		t.Generation = r.StatusUpdate.Generation
		t.setStatus(r.StatusUpdate)
	case r.ArtifactUpdate != nil:
		t.name(r.ArtifactUpdate.TaskID, r.ArtifactUpdate.ContextID)
		t.Generation = r.ArtifactUpdate.Generation
		t.addArtifact(r.ArtifactUpdate)
	case r.MessageUpdate != nil:
		t.name(r.MessageUpdate.TaskID, r.MessageUpdate.ContextID)
		t.Generation = r.MessageUpdate.Generation
		t.addMessage(r.MessageUpdate.Message)
	}
}

// name gives ids to a task whose stream did not begin with a Task.
func (t *Task) name(id, contextID string) {
	t.ID, t.ContextID = cmp.Or(t.ID, id), cmp.Or(t.ContextID, contextID)
}

func (t *Task) addMessage(m *Message) {
	if t.Status.State.Interrupted() {
		t.remember(t.Status.Message)
		t.Status.Message = nil
	}
	if m != nil {
		t.History = append(t.History, m)
	}
}

func (t *Task) setStatus(e *TaskStatusUpdateEvent) {
	if old := t.Status.Message; !sameMessage(old, e.Status.Message) {
		t.remember(old)
	}
	t.Status = e.Status
	if len(e.Status.Elicitations) > 0 && len(t.Timeline) > 0 { // only a client that asked for them
		t.Elicitations = mergeElicitations(t.Elicitations, e.Status.Elicitations)
	}
}

// sameMessage reports whether both are the same by their ids, which peers may have left
// out. The two sides of a conversation choose ids on their own, so one may use an id of
// the other.
func sameMessage(a, b *Message) bool {
	return a != nil && b != nil && (a == b || a.MessageID != "" && a.MessageID == b.MessageID && a.Role == b.Role)
}

// dedupeWindow is how many messages back remember looks for one that it has already.
// Repetitions are near each other; without a bound, a task with thousands of status
// messages would take quadratic time.
const dedupeWindow = 256

// remember appends a message of the agent to the history unless it is among the last
// dedupeWindow messages. It never changes an element: Snapshot relies on that.
func (t *Task) remember(m *Message) {
	if m == nil {
		return
	}
	recent := t.History[max(0, len(t.History)-dedupeWindow):]
	for _, old := range slices.Backward(recent) {
		if sameMessage(old, m) {
			return
		}
	}
	t.History = append(t.History, m)
}

// addArtifact changes only Artifact values that belong to the task: those it
// made itself, and those of a Snapshot.
func (t *Task) addArtifact(e *TaskArtifactUpdateEvent) {
	in := e.Artifact
	if in == nil { // a peer's mistake
		return
	}
	at := -1
	for i, a := range slices.Backward(t.Artifacts) {
		if a.ArtifactID == in.ArtifactID {
			at = i
			break
		}
	}
	switch {
	case at < 0:
		t.Artifacts = append(t.Artifacts, in.head())
	case !e.Append:
		t.Artifacts[at] = in.head()
	default:
		t.Artifacts[at].add(in)
	}
}

// head returns a copy that shares the content but can grow on its own.
func (a *Artifact) head() *Artifact {
	c := *a
	c.Parts = slices.Clip(c.Parts)
	return &c
}

func (a *Artifact) add(chunk *Artifact) {
	a.Parts = append(a.Parts, chunk.Parts...)
	a.Name, a.Description = cmp.Or(chunk.Name, a.Name), cmp.Or(chunk.Description, a.Description)
	if len(chunk.Metadata) > 0 {
		a.Metadata = chunk.Metadata
	}
	if len(chunk.Extensions) > 0 {
		a.Extensions = chunk.Extensions
	}
}

// join merges each run of an artifact's parts that are nothing but text into one part.
// The old parts, and the slice of them, may be shared and stay unchanged.
func (t *Task) join(id string) {
	for _, a := range t.Artifacts {
		if a.ArtifactID == id {
			a.join()
		}
	}
}

func (a *Artifact) join() {
	var parts []*Part
	for rest := a.Parts; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && rest[n].plain() {
			size += len(rest[n].Text)
			n++
		}
		if n < 2 {
			parts, rest = append(parts, rest[0]), rest[1:]
			continue
		}
		var text strings.Builder
		text.Grow(size)
		for _, p := range rest[:n] {
			text.WriteString(p.Text)
		}
		parts, rest = append(parts, TextPart(text.String())), rest[n:]
	}
	a.Parts = parts
}

// plain reports whether a part is nothing but text.
func (p *Part) plain() bool {
	return p.Kind == PartText && len(p.Metadata) == 0 && p.Filename == "" && p.MediaType == ""
}

// Snapshot returns a copy that is independent of later calls of Apply and ApplyEvent on
// t, and the other way round, and that may be read while they run. It costs a header
// for each artifact and nothing for the content: messages and parts are shared and must
// not be changed, which Apply never does.
//
// That is safe because histories and parts only ever grow at their end, which a copy of
// the slice does not see, and because the copy has no spare capacity, so that growing
// it moves it elsewhere.
func (t *Task) Snapshot() *Task {
	c := *t
	c.History = slices.Clip(t.History)
	if len(t.Artifacts) > 0 {
		heads := make([]Artifact, len(t.Artifacts))
		c.Artifacts = make([]*Artifact, len(t.Artifacts))
		for i, a := range t.Artifacts {
			heads[i] = *a
			heads[i].Parts = slices.Clip(a.Parts)
			c.Artifacts[i] = &heads[i]
		}
	}
	return &c
}

// LimitHistory returns the task with at most the n last messages of its
// history, as a historyLength asks: nil keeps all of them, 0 none. The result
// shares everything else with t and must not be given to Apply.
func (t *Task) LimitHistory(n *int32) *Task {
	if n == nil || int(*n) >= len(t.History) {
		return t
	}
	c := *t
	c.History = nil
	if *n > 0 {
		c.History = slices.Clip(t.History[len(t.History)-int(*n):])
	}
	return &c
}
