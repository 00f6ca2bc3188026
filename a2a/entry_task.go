package a2a

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/json"
)

// A finished task is stored as a head and, apart from it, its artifacts: see
// AppendStored. Both are pieces of the JSON form, so that an answer can be put together
// from them without decoding them: see ReadStored.

// Spilled says whether the head or the body of a stored task refers to content that the
// store keeps elsewhere, so that the stored bytes alone cannot be the answer.
type Spilled uint8

// SpilledHead is about the bytes of AppendStored, SpilledBody about those of
// AppendStoredBody.
const (
	SpilledHead Spilled = 1 << iota
	SpilledBody
)

// AppendStored appends the form in which a store keeps a finished task without
// its artifacts:
//
//	{"generation":5,"messages":2,"history":180,"metadata":930,"spilled":1,"version":"0.3","task":{…}}
//
// The members before the task are needed to serve it unchanged: its generation, which
// is not in it; the number of messages in its history; and the offsets at which its
// members history and metadata begin, or would begin, with their comma. spilled and
// version are omitted if they say nothing.
func (t *Task) AppendStored(b []byte, spilled Spilled) []byte {
	from := len(b)
	b = append(b, '{')
	for _, name := range [...]string{"id", "contextId", "status"} {
		b = taskJSON.AppendPlainMember(b, t, name) // the draft's members are read from the log
	}
	history := len(b) - from
	b = taskJSON.AppendPlainMember(b, t, "history")
	metadata := len(b) - from
	b = append(taskJSON.AppendMember(b, t, "metadata", false), '}')

	var room [128]byte
	h := strconv.AppendInt(append(room[:0], storedPrefix...), t.Generation, 10)
	h = strconv.AppendInt(json.AppendKey(h, "messages"), int64(len(t.History)), 10)
	h = strconv.AppendInt(json.AppendKey(h, "history"), int64(history), 10)
	h = strconv.AppendInt(json.AppendKey(h, "metadata"), int64(metadata), 10)
	if spilled != 0 {
		h = strconv.AppendInt(json.AppendKey(h, "spilled"), int64(spilled), 10)
	}
	if t.Version != "" {
		h = json.AppendString(json.AppendKey(h, "version"), string(t.Version))
	}
	return append(slices.Insert(b, from, json.AppendKey(h, "task")...), '}')
}

// AppendStoredBody appends the form in which a store keeps a finished task's
// artifacts: an object with one member, or none.
func (t *Task) AppendStoredBody(b []byte) []byte {
	return append(taskJSON.AppendPlainMember(append(b, '{'), t, "artifacts"), '}')
}

// AppendStored begins with the first of these. Earlier releases began tasks of old
// versions with the second, and wrote others as their JSON form, which begins with the
// id.
var (
	storedPrefix    = []byte(`{"generation":`)
	versionedPrefix = []byte(`{"version":`)
)

// DecodeStored reads what AppendStored writes, or wrote in earlier releases.
func (t *Task) DecodeStored(doc []byte) error {
	if bytes.HasPrefix(doc, storedPrefix) || bytes.HasPrefix(doc, versionedPrefix) {
		return t.decodeStored(doc)
	}
	return t.UnmarshalJSON(doc)
}

// DecodeStoredBody reads what AppendStoredBody writes, or wrote in earlier releases:
// with more members, which are in the head as well.
func (t *Task) DecodeStoredBody(doc []byte) error {
	if len(doc) == 0 {
		return nil
	}
	var body Task
	err := body.UnmarshalJSON(doc)
	t.Artifacts = body.Artifacts
	return err
}

// storedTask is a task with any header.
type storedTask struct {
	Generation *int64  `json:"generation"`
	Version    Version `json:"version"`
	Task       Task    `json:"task"`
}

var storedTaskJSON = json.For[storedTask]()

func (t *Task) decodeStored(doc []byte) error {
	if h, task, ok := readHeader(doc); ok { // without the codec, which would copy the task
		if err := t.UnmarshalJSON(task); err != nil {
			return err
		}
		t.Generation, t.Version = h.generation, Version(h.version)
		return nil
	}
	var s storedTask
	err := unmarshal(doc, storedTaskJSON, &s)
	if *t = s.Task; s.Generation != nil {
		t.Generation = *s.Generation
	}
	t.Version = s.Version
	return err
}
