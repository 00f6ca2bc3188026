package a2a

import (
	"bytes"
	"slices"
	"strconv"
)

// A finished task is stored as a head and, apart from it, its artifacts: see
// AppendStored. Both are the JSON form cut in pieces, so that an answer can be
// put together of them without reading them: see ReadStored.

// Spilled says which of the two have parts whose content the store keeps
// elsewhere, so that what is stored is not what is answered.
type Spilled uint8

// The two.
const (
	SpilledHead Spilled = 1 << iota
	SpilledBody
)

// AppendStored appends the form in which a store keeps a finished task without
// its artifacts:
//
//	{"generation":5,"messages":2,"history":180,"metadata":930,"spilled":1,"version":"0.3","task":{…}}
//
// What is in front of the task is what has to be known of it to serve it as it
// stands: its generation, which is not in it, how many messages its history has,
// where in it the members history and metadata begin, with their comma, or would.
// The last two are left out where they say nothing.
func (t *Task) AppendStored(b []byte, spilled Spilled) []byte {
	from := len(b)
	b = t.appendStart(b)
	history := len(b) - from
	b = optObjects(b, "history", t.History)
	metadata := len(b) - from
	b = append(optRaw(b, "metadata", t.Metadata), '}')

	var room [128]byte
	h := strconv.AppendInt(append(room[:0], storedPrefix...), t.Generation, 10)
	h = integer(h, "messages", int32(len(t.History)))
	h = integer(h, "history", int32(history))
	h = integer(h, "metadata", int32(metadata))
	h = optInteger(h, "spilled", int32(spilled))
	h = key(optText(h, "version", t.Version), "task")
	return append(slices.Insert(b, from, h...), '}')
}

// AppendStoredBody appends the form in which a store keeps a finished task's
// artifacts: an object with one member, or none.
func (t *Task) AppendStoredBody(b []byte) []byte {
	return append(optObjects(append(b, '{'), "artifacts", t.Artifacts), '}')
}

// Of these the first begins what AppendStored writes, the second what earlier
// releases wrote of tasks of old versions. They wrote others as their JSON form,
// which begins with the id.
var (
	storedPrefix    = []byte(`{"generation":`)
	versionedPrefix = []byte(`{"version":`)
)

// DecodeStored reads what AppendStored writes, or wrote in earlier releases.
func (t *Task) DecodeStored(doc []byte) error {
	if bytes.HasPrefix(doc, storedPrefix) || bytes.HasPrefix(doc, versionedPrefix) {
		return unmarshal(doc, (*storedTask)(t))
	}
	return t.UnmarshalJSON(doc)
}

// DecodeStoredBody reads what AppendStoredBody writes, or wrote in earlier
// releases: with more members, which the head has, too.
func (t *Task) DecodeStoredBody(doc []byte) error {
	if len(doc) == 0 {
		return nil
	}
	var body Task
	err := body.UnmarshalJSON(doc)
	t.Artifacts = body.Artifacts
	return err
}

type storedTask Task

func (s *storedTask) decode(d *decoder) *fault {
	version, generation, counted := "", int64(0), false
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "version":
			return d.string(&version)
		case "generation":
			counted = true
			return d.int64(&generation)
		case "task":
			return (*Task)(s).decode(d)
		}
		return d.ignore()
	})
	s.Version = version
	if counted {
		s.Generation = generation
	}
	return f
}
