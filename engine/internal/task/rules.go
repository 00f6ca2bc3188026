package task

import (
	"errors"
	"fmt"
	"maps"

	"github.com/parley-a2a/parley/a2a"
)

// MayFollow reports whether a task in state from may change to state to: the state machine of
// docs/state-machine.md. Terminal states are final (specification §3.1.1), unless the task's
// version reopens finished tasks (a2a.Version.Reopens): such a task returns to submitted with
// its client's next message. No other task returns to submitted.
func MayFollow(from, to a2a.TaskState, reopens bool) bool {
	if !from.Valid() || !to.Valid() {
		return false
	}
	return (to == a2a.TaskStateSubmitted) == from.Terminal() && (!from.Terminal() || reopens)
}

var (
	ErrTerminal   = errors.New("engine: the task is in a terminal state")
	ErrRetiring   = errors.New("engine: the task is in a terminal state and its owner about to leave")
	errTransition = errors.New("engine: the task's state cannot follow the one it is in")
	errNoParts    = errors.New("engine: an artifact needs at least one part")
	errNotBegun   = errors.New("engine: nothing can be appended to an artifact that was not begun")
	errClosed     = errors.New("engine: nothing can be appended to an artifact after its last chunk")
)

// draft is the state of a task that the rules check. It is ahead of the log by the entries that
// are emitted and not committed yet.
type draft struct {
	state     a2a.TaskState
	artifacts artifacts

	generation int64        // see a2a.Task.Generation
	words      *a2a.Message // message of the newest status
	version    a2a.Version  // see a2a.Task.Version
	reopened   int          // how often the task was reopened
	messages   int          // of the client, so far
}

// artifact is the part of an artifact that the rules check.
type artifact struct {
	open bool  // chunks may be appended
	size int64 // in bytes, for Limits.ArtifactBytes
}

// artifacts are a task's artifacts by id. Most tasks have one, which needs no map.
type artifacts struct {
	only  artifact
	id    string // of only
	known bool   // only is set
	rest  map[string]artifact
}

func (a *artifacts) get(id string) (is artifact, known bool) {
	if a.known && a.id == id {
		return a.only, true
	}
	is, known = a.rest[id]
	return is, known
}

func (a *artifacts) set(id string, is artifact) {
	switch {
	case !a.known, a.id == id:
		a.only, a.id, a.known = is, id, true
	case a.rest == nil:
		a.rest = map[string]artifact{id: is}
	default:
		a.rest[id] = is
	}
}

func (a *artifacts) clone() artifacts {
	c := *a
	c.rest = maps.Clone(a.rest)
	return c
}

func newDraft() draft {
	return draft{state: a2a.TaskStateSubmitted, generation: 1}
}

// follow applies an entry if the rules allow it; otherwise nothing changes.
// Messages, steps and cancel requests only need a task that is not finished.
func (d *draft) follow(en *a2a.Entry) error {
	if d.state.Terminal() {
		return ErrTerminal
	}
	switch en.Kind {
	case a2a.EntryStatus:
		to := en.Status.Status.State
		if !MayFollow(d.state, to, d.version.Reopens()) {
			return fmt.Errorf("%w: %s after %s", errTransition, to, d.state)
		}
		d.become(en.Status)
	case a2a.EntryArtifact:
		ev := en.Artifact
		if len(ev.Artifact.Parts) == 0 {
			return errNoParts
		}
		was, known := d.artifacts.get(ev.Artifact.ArtifactID)
		switch {
		case ev.Append && !known:
			return errNotBegun
		case ev.Append && !was.open:
			return errClosed
		}
		d.write(ev)
	case a2a.EntryMessage:
		d.hear()
	}
	return nil
}

// hear counts a message of the client. The first one belongs to the creation of the task.
func (d *draft) hear() {
	if d.messages > 0 {
		d.generation++
	}
	d.messages++
}

func (d *draft) write(ev *a2a.TaskArtifactUpdateEvent) {
	is := artifact{open: !ev.LastChunk, size: int64(ev.Artifact.Size())}
	if ev.Append {
		was, _ := d.artifacts.get(ev.Artifact.ArtifactID)
		is.size += was.size
	}
	d.artifacts.set(ev.Artifact.ArtifactID, is)
	d.generation++
}

// reopen applies the entry that reopens a finished task. It is separate from follow so that
// only a client's message can reopen a task.
func (d *draft) reopen(en *a2a.Entry) error {
	if !d.state.Terminal() || !MayFollow(d.state, en.Status.Status.State, d.version.Reopens()) {
		return ErrTerminal
	}
	d.become(en.Status)
	return nil
}

func (d *draft) become(ev *a2a.TaskStatusUpdateEvent) {
	d.state, d.words = ev.Status.State, ev.Status.Message
	d.generation++
	if d.state == a2a.TaskStateSubmitted {
		d.reopened++
	}
}

// replay applies an entry of the log, which the rules have accepted before.
func (d *draft) replay(en *a2a.Entry) {
	switch en.Kind {
	case a2a.EntryCreated:
		d.version = en.Created.Version
	case a2a.EntryStatus:
		d.become(en.Status)
		d.recorded(en.Status.Generation)
	case a2a.EntryArtifact:
		d.write(en.Artifact)
		d.recorded(en.Artifact.Generation)
	case a2a.EntryMessage:
		d.hear()
	}
}

// recorded adopts the generation in a log entry, because older releases did not count messages.
func (d *draft) recorded(generation int64) {
	if generation > 0 {
		d.generation = generation
	}
}

// active reports whether a task in state s needs a process: it is neither finished nor waiting
// for its client.
func active(s a2a.TaskState) bool { return !s.Terminal() && !s.Interrupted() }

// CheckContext checks that a message may join a task of this context (specification §3.4.3).
func CheckContext(message *a2a.Message, contextID string) error {
	if message.ContextID != "" && message.ContextID != contextID {
		return a2a.Invalid("message.contextId", "is not the context of task %s; leave it out or send the task's own", message.TaskID)
	}
	return nil
}
