package a2a

import "bytes"

// AppendStored appends the form in which a store keeps a finished task: the
// JSON form, and around it what is not on the wire if there is any. The
// artifacts can be left out and kept apart.
func (t *Task) AppendStored(b []byte) []byte {
	if t.Version == "" {
		return t.AppendJSON(b)
	}
	b = text(append(b, '{'), "version", t.Version)
	return append(t.AppendJSON(key(b, "task")), '}')
}

// storedPrefix begins what has something around the JSON form, which begins
// with the task's id.
var storedPrefix = []byte(`{"version":`)

// DecodeStored is the reverse of AppendStored.
func (t *Task) DecodeStored(doc []byte) error {
	if !bytes.HasPrefix(doc, storedPrefix) {
		return t.UnmarshalJSON(doc)
	}
	return unmarshal(doc, (*storedTask)(t))
}

type storedTask Task

func (s *storedTask) decode(d *decoder) *fault {
	version := ""
	f := d.object(func(name []byte) *fault {
		switch string(name) {
		case "version":
			return d.string(&version)
		case "task":
			return (*Task)(s).decode(d)
		}
		return d.ignore()
	})
	s.Version = version
	return f
}
