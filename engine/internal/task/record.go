package task

import (
	"slices"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/engine/internal/stored"
	"github.com/parley-a2a/parley/engine/internal/topic"
	"github.com/parley-a2a/parley/store"
)

// record is an entry with its stored form.
type record struct {
	entry  *a2a.Entry
	body   []byte
	blobs  []store.Blob // what body refers to
	post   *Post        // settled once this record is committed; may be nil
	missed []*Post      // messages that the agent never gets once this record, the task's end, is committed
	tied   bool         // this record and the next are in the same append

	wanted bool // the task needs a process, though it waits for its client
}

// size is the size of the record in an append, in bytes.
func (r *record) size() int {
	n := len(r.body)
	for i := range r.blobs {
		n += len(r.blobs[i].Data)
	}
	return n
}

// newRecordLocked stamps and encodes an entry. Times never go back within a task, even if the
// clock does.
func (o *Owner) newRecordLocked(en *a2a.Entry) record {
	en.Time = o.all.Now()
	if en.Time.Before(o.out.last) {
		en.Time = o.out.last
	}
	o.out.last = en.Time
	switch en.Kind {
	case a2a.EntryStatus:
		en.Status.Status.Timestamp = en.Time
		en.Status.Generation = o.draft.generation
	case a2a.EntryArtifact:
		en.Artifact.Generation = o.draft.generation
	}
	r := record{entry: en, wanted: o.parking.bound > 0}
	var blobs []store.Blob
	kept := stored.SpillEntry(en, &blobs)
	r.body, r.blobs = o.encodeLocked(kept), blobs
	o.mem.weight += stored.Weight(en)
	o.mem.unsaved += int64(r.size())
	o.chargeLocked()
	return r
}

// bodyRoom is the size of an array that bodies share, in bytes: enough for all bodies of a
// quick task.
const bodyRoom = 1280

// encodeLocked returns the body of an entry. Small bodies share an array.
func (o *Owner) encodeLocked(en *a2a.Entry) []byte {
	need := 256 + content(en)
	if need > bodyRoom/2 {
		return slices.Clip(en.AppendBody(make([]byte, 0, need)))
	}
	if cap(o.out.bodies)-len(o.out.bodies) < need {
		o.out.bodies = make([]byte, 0, bodyRoom)
	}
	from := len(o.out.bodies)
	o.out.bodies = en.AppendBody(o.out.bodies)
	body := slices.Clip(o.out.bodies[from:])
	if cap(o.out.bodies) > bodyRoom { // a body was larger than expected: the array must not stay
		o.out.bodies = nil
	}
	return body
}

// content estimates the bytes that an entry's parts take, so that its buffer need not grow.
func content(en *a2a.Entry) int {
	n := stored.PartsSize(stored.PartsOf(en))
	switch {
	case en.Artifact != nil:
		n += len(en.Artifact.Artifact.Metadata)
	case en.Message != nil:
		n += len(en.Message.Metadata)
		if en.Received != nil {
			n += len(en.Received.Metadata)
		}
	case en.Step != nil:
		n = len(en.Step.Result)
	}
	return n
}

// status makes a status entry; message may be nil and gets its ids here.
func (o *Owner) status(state a2a.TaskState, message *a2a.Message) *a2a.Entry {
	if message != nil {
		m := *message
		m.Role = a2a.RoleAgent
		m.TaskID, m.ContextID = o.key.ID, o.contextID
		if m.MessageID == "" {
			m.MessageID = stored.NewID()
		}
		message = &m
	}
	both := &struct { // one allocation
		entry  a2a.Entry
		status a2a.TaskStatusUpdateEvent
	}{}
	both.status = a2a.TaskStatusUpdateEvent{
		TaskID:    o.key.ID,
		ContextID: o.contextID,
		Status:    a2a.TaskStatus{State: state, Message: message},
	}
	both.entry = a2a.Entry{Kind: a2a.EntryStatus, Status: &both.status}
	return &both.entry
}

// failure makes the status entry with which the task fails.
func (o *Owner) failure(text string) *a2a.Entry {
	return o.status(a2a.TaskStateFailed, words(text))
}

func words(text string) *a2a.Message {
	return &a2a.Message{Parts: []*a2a.Part{a2a.TextPart(text)}}
}

func (r *record) sized() topic.Entry {
	s := topic.Entry{Entry: r.entry, Size: len(r.body)}
	if len(r.blobs) == 0 {
		s.Body = r.body
	}
	return s
}
