package dialect

import "github.com/parley-a2a/parley/a2a"

func (c v03Codec) Events(Op, any) Events { return &v03Events{codec: c} }

// v03Events tracks when a stream ends: with a final status or, in the proto form, with
// a finished Task.
type v03Events struct {
	codec v03Codec
	ended bool
}

// Append makes two events of a finished Task in the TS form, because its clients read
// on until a status is final.
func (e *v03Events) Append(dst []byte, el *a2a.StreamResponse, i int) (doc []byte, more bool) {
	w := oldWriter{jsonWriter{dst}, e.codec.form}
	finished := el.Task != nil && el.Task.Status.State.Terminal()
	if i > 0 {
		t := el.Task
		w.statusUpdate(&a2a.TaskStatusUpdateEvent{TaskID: t.ID, ContextID: t.ContextID, Status: t.Status}, true)
		e.ended = true
		return w.b, false
	}
	e.note(el)
	w.element(el, e.ended)
	return w.b, finished && e.codec.form != formProto
}

// note records whether the stream ends with an element.
func (e *v03Events) note(el *a2a.StreamResponse) {
	switch {
	case el.Task != nil && el.Task.Status.State.Terminal() && e.codec.form == formProto:
		e.ended = true
	case el.StatusUpdate != nil:
		e.ended = v03Final(el.StatusUpdate.Status.State)
	}
}

func (e *v03Events) form(el *a2a.StreamResponse) (uint64, bool) {
	e.note(el)
	return sharedOld + uint64(e.codec.form), true
}

func (e *v03Events) Ended() bool { return e.ended }

// v03Final reports whether a stream ends with a status: because the task ends, or
// because the client has to answer.
func v03Final(s a2a.TaskState) bool { return s.Terminal() || s == a2a.TaskStateInputRequired }

// element writes one element; it writes nothing for an empty one.
func (w *oldWriter) element(el *a2a.StreamResponse, final bool) {
	switch {
	case el.Task != nil:
		w.wrapped("task", func() { w.task(el.Task) })
	case el.Message != nil:
		w.wrapped("message", func() { w.message(el.Message) })
	case el.StatusUpdate != nil:
		w.wrapped("statusUpdate", func() { w.statusUpdate(el.StatusUpdate, final) })
	case el.ArtifactUpdate != nil:
		w.wrapped("artifactUpdate", func() { w.artifactUpdate(el.ArtifactUpdate) })
	}
}

// wrapped writes an object with its type: as its kind or, in the proto form, as the
// member around it.
func (w *oldWriter) wrapped(name string, write func()) {
	if w.form != formProto {
		write()
		return
	}
	w.open('{')
	w.key(name)
	write()
	w.close('}')
}
