package dialect

import "github.com/parley-a2a/parley/a2a"

func (v01Codec) Events(op Op, req any) Events {
	e := &v01Events{op: op, index: map[string]int{}}
	e.id, _ = v01Asked(req)
	if r, ok := req.(*a2a.SubscribeToTaskRequest); ok {
		e.resumes = r.After > 0
	}
	return e
}

// v01Events numbers the artifacts of a task as they appear, which is their
// position in it: the Task that a stream begins with has those so far. One that
// is begun anew keeps its number.
type v01Events struct {
	op      Op
	id      string // of the task that was asked for
	resumes bool   // behind an event that the client has
	index   map[string]int
	ended   bool
}

func (e *v01Events) Ended() bool { return e.ended }

func (e *v01Events) Append(dst []byte, el *a2a.StreamResponse, i int) ([]byte, bool) {
	switch {
	case el.Task != nil:
		return e.task(dst, el.Task, i)
	case el.Message != nil:
		t := v01Answer(&a2a.Message{TaskID: e.id}, el.Message)
		return e.status(dst, t.ID, t.Status, nil, true), false
	case el.StatusUpdate != nil:
		u := el.StatusUpdate
		s := u.Status.State
		return e.status(dst, u.TaskID, v01StatusOf(&u.Status), u.Metadata, s.Terminal() || s == a2a.TaskStateInputRequired), false
	case el.ArtifactUpdate != nil && el.ArtifactUpdate.Artifact != nil:
		u := el.ArtifactUpdate
		a := e.artifact(u.Artifact)
		a.Append, a.LastChunk = u.Append, u.LastChunk
		return appendPlain(dst, &v01Event{ID: u.TaskID, Artifact: a, Metadata: u.Metadata}), false
	}
	return dst, false
}

// task appends the i-th event that a Task becomes: its status, and its
// artifacts. Whoever subscribes to a finished task is told the end alone.
func (e *v01Events) task(dst []byte, t *a2a.Task, i int) ([]byte, bool) {
	if i == 0 {
		clear(e.index)
		for _, a := range t.Artifacts {
			e.number(a.ArtifactID)
		}
	}
	final := e.final(t)
	artifacts := t.Artifacts
	if e.op == SubscribeToTask && t.Status.State.Terminal() {
		artifacts = nil
	}
	status := 0
	if final {
		status = len(artifacts) // behind it, nobody reads
	}
	more := i < len(artifacts)
	if i == status {
		return e.status(dst, t.ID, v01StatusOf(&t.Status), nil, final), more
	}
	if !final {
		i--
	}
	return appendPlain(dst, &v01Event{ID: t.ID, Artifact: e.artifact(artifacts[i])}), more
}

// final reports whether a Task at the beginning of a stream is also its end. A
// task that waits for its client does so with a question; without one, the
// answer has come in already. A stream that answers a message, or goes on
// where the client was, has more to tell.
func (e *v01Events) final(t *a2a.Task) bool {
	if t.Status.State.Terminal() {
		return true
	}
	return e.op == SubscribeToTask && !e.resumes && t.Status.State == a2a.TaskStateInputRequired && t.Status.Message != nil
}

func (e *v01Events) status(dst []byte, id string, s *v01Status, metadata a2a.JSON, final bool) []byte {
	e.ended = e.ended || final
	return appendPlain(dst, &v01Event{ID: id, Status: s, Final: &final, Metadata: metadata})
}

func (e *v01Events) artifact(a *a2a.Artifact) *v01Artifact {
	return v01ArtifactOf(a, e.number(a.ArtifactID))
}

func (e *v01Events) number(id string) int {
	n, ok := e.index[id]
	if !ok {
		n = len(e.index)
		e.index[id] = n
	}
	return n
}
