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

// v01Events numbers the artifacts of a task in the order in which they appear, which is
// their position in it: the Task at the beginning of a stream has the artifacts so far.
// An artifact that begins anew keeps its number.
type v01Events struct {
	op      Op
	id      string // of the task that was asked for
	resumes bool   // after an event that the client has
	index   map[string]int
	ended   bool
}

func (e *v01Events) Ended() bool { return e.ended }

func (e *v01Events) Append(dst []byte, el *a2a.StreamResponse, i int) ([]byte, bool) {
	switch {
	case el.Task != nil:
		return e.task(dst, el.Task, i)
	case el.Message != nil:
		t := v01Answer(e.id, el.Message)
		return e.status(dst, t.ID, &t.Status, true, nil), false
	case el.StatusUpdate != nil:
		u := el.StatusUpdate
		return e.status(dst, u.TaskID, &u.Status, v03Final(u.Status.State), u.Metadata), false
	case el.ArtifactUpdate != nil && el.ArtifactUpdate.Artifact != nil:
		u := el.ArtifactUpdate
		return e.artifact(dst, u.TaskID, u.Artifact, u), false
	}
	return dst, false
}

// form includes the number of an artifact.
func (e *v01Events) form(el *a2a.StreamResponse) (uint64, bool) {
	switch {
	case el.StatusUpdate != nil:
		e.ended = e.ended || v03Final(el.StatusUpdate.Status.State)
		return sharedOld + uint64(form01), true
	case el.ArtifactUpdate.Artifact != nil:
		return sharedOld + uint64(form01) | uint64(e.number(el.ArtifactUpdate.Artifact))<<32, true
	}
	return 0, false
}

// task appends the i-th event that a Task becomes: its status, and its artifacts. A
// subscriber to a finished task gets only the end.
func (e *v01Events) task(dst []byte, t *a2a.Task, i int) ([]byte, bool) {
	if i == 0 {
		clear(e.index) // the events of its artifacts number them
	}
	final, artifacts, status := e.final(t), t.Artifacts, 0
	if e.op == SubscribeToTask && t.Status.State.Terminal() {
		artifacts = nil
	}
	if final {
		status = len(artifacts) // nobody reads after it
	}
	more := i < len(artifacts)
	switch {
	case i == status:
		return e.status(dst, t.ID, &t.Status, final, nil), more
	case i > status:
		i--
	}
	return e.artifact(dst, t.ID, artifacts[i], nil), more
}

// final reports whether a Task at the beginning of a stream is also its end. A task
// that waits for its client has a question in its status; without one, the answer has
// come in already. A stream that answers a message, or continues another one, has more
// to tell.
func (e *v01Events) final(t *a2a.Task) bool {
	if t.Status.State.Terminal() {
		return true
	}
	return e.op == SubscribeToTask && !e.resumes && t.Status.State == a2a.TaskStateInputRequired && t.Status.Message != nil
}

func (e *v01Events) status(dst []byte, id string, s *a2a.TaskStatus, final bool, metadata a2a.JSON) []byte {
	e.ended = e.ended || final
	w := oldWriter{jsonWriter{dst}, form01}
	w.statusUpdate(&a2a.TaskStatusUpdateEvent{TaskID: id, Status: *s, Metadata: metadata}, final)
	return w.b
}

func (e *v01Events) artifact(dst []byte, id string, a *a2a.Artifact, u *a2a.TaskArtifactUpdateEvent) []byte {
	w := oldWriter{jsonWriter{dst}, form01}
	w.v01ArtifactEvent(id, a, e.number(a), u)
	return w.b
}

func (e *v01Events) number(a *a2a.Artifact) int {
	id := ""
	if a != nil {
		id = a.ArtifactID
	}
	n, ok := e.index[id]
	if !ok {
		n = len(e.index)
		e.index[id] = n
	}
	return n
}
