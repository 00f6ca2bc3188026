package a2a

import (
	"bytes"
	"strconv"
)

// EncodedTask is the JSON form of a task that was never decoded: see Task.Encoded. It
// is read-only, and may be a part of larger memory.
type EncodedTask struct {
	start                        []byte // from the brace through the status
	artifacts, history, metadata []byte // members, history and metadata with their comma
}

// ReadStored returns a finished task from its stored head and body, as AppendStored and
// AppendStoredBody wrote them, or from the head alone, for a task without its artifacts.
// The task is Encoded and refers to both, which must not be changed afterwards. Of its
// fields, Generation and Version are set. n is what LimitHistory takes.
//
// It returns nil if the bytes cannot be served as they are: parts of them are stored
// elsewhere, an earlier release wrote them, only a part of the history is asked for, or
// they are damaged. Decode them then.
func ReadStored(head, body []byte, n *int32) *Task {
	h, doc, ok := readHeader(head)
	if !ok || h.generation <= 0 || h.spilled&SpilledHead != 0 || body != nil && h.spilled&SpilledBody != 0 {
		return nil
	}
	end := len(doc) - 1
	if h.history < 2 || h.metadata < h.history || end < h.metadata || doc[h.history-1] != '}' {
		return nil
	}
	r := &struct { // one allocation for both
		task Task
		doc  EncodedTask
	}{doc: EncodedTask{start: doc[:h.history], history: doc[h.history:h.metadata], metadata: doc[h.metadata:end]}}
	e := &r.doc
	if !isMember(e.history, `,"history":[`, ']') || !isMember(e.metadata, `,"metadata":`, 0) || (len(e.history) > 0) != (h.messages > 0) {
		return nil
	}
	if len(body) > 0 {
		if body[0] != '{' || body[len(body)-1] != '}' {
			return nil
		}
		e.artifacts = body[1 : len(body)-1]
		if !isMember(e.artifacts, `"artifacts":[`, ']') {
			return nil
		}
	}
	switch {
	case n == nil || int64(*n) >= h.messages:
	case *n == 0:
		e.history = nil
	default:
		return nil
	}
	r.task = Task{Generation: h.generation, Version: Version(h.version), Encoded: e}
	return &r.task
}

// isMember reports whether m is empty, or begins and ends as it should. It looks only
// at both ends, because we wrote what is between them.
func isMember(m []byte, begin string, end byte) bool {
	return len(m) == 0 || len(m) > len(begin) && string(m[:len(begin)]) == begin && (end == 0 || m[len(m)-1] == end)
}

// append appends the JSON form, with a generation unless it is 0.
func (e *EncodedTask) append(b []byte, generation int64) []byte {
	b = append(b, e.start...)
	if len(e.artifacts) > 0 {
		b = append(append(b, ','), e.artifacts...)
	}
	b = append(b, e.history...)
	b = append(b, e.metadata...)
	if generation != 0 {
		b = append(strconv.AppendInt(append(b, `,"generation":"`...), generation, 10), '"')
	}
	return append(b, '}')
}

// appendEncoded writes a task that is Encoded.
func appendEncoded(b []byte, t *Task, plain bool) ([]byte, bool) {
	if t.Encoded == nil {
		return b, false
	}
	generation := t.Generation
	if plain {
		generation = 0
	}
	return t.Encoded.append(b, generation), true
}

// encodedSlack is the most that the JSON form of an encoded task has besides its stored
// bytes.
const encodedSlack = 64

// Decode sets the fields of a task that is Encoded, and clears Encoded. On other tasks
// it does nothing.
func (t *Task) Decode() error {
	if t.Encoded == nil {
		return nil
	}
	var whole Task
	if err := whole.UnmarshalJSON(t.AppendJSON(make([]byte, 0, t.Size()+encodedSlack))); err != nil {
		return err
	}
	whole.Version = t.Version
	*t = whole
	return nil
}

// header is what AppendStored writes before a task.
type header struct {
	generation, messages int64
	history, metadata    int
	spilled              Spilled
	version              []byte
}

// readHeader reads a header exactly as it is written, and returns the task after it.
func readHeader(head []byte) (h header, doc []byte, ok bool) {
	s := head
	var history, metadata, spilled int64
	ok = number64(&s, `{"generation":`, &h.generation) &&
		number64(&s, `,"messages":`, &h.messages) &&
		number64(&s, `,"history":`, &history) &&
		number64(&s, `,"metadata":`, &metadata)
	number64(&s, `,"spilled":`, &spilled)
	if rest, there := bytes.CutPrefix(s, []byte(`,"version":"`)); there {
		end := bytes.IndexByte(rest, '"')
		if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
			return h, nil, false
		}
		h.version, s = rest[:end], rest[end+1:]
	}
	doc, behind := bytes.CutPrefix(s, []byte(`,"task":`))
	if !ok || !behind || len(doc) < len(`{}}`) || string(doc[len(doc)-2:]) != "}}" || doc[0] != '{' {
		return h, nil, false
	}
	doc = doc[:len(doc)-1]
	if most := int64(len(doc)); history > most || metadata > most {
		return h, nil, false
	}
	h.history, h.metadata, h.spilled = int(history), int(metadata), Spilled(spilled)
	return h, doc, true
}

// number64 consumes a name and an unsigned number.
func number64(s *[]byte, name string, n *int64) bool {
	b := *s
	if len(b) < len(name) || string(b[:len(name)]) != name {
		return false
	}
	b = b[len(name):]
	i, v := 0, int64(0)
	for ; i < len(b) && i < 18 && b[i]-'0' <= 9; i++ {
		v = 10*v + int64(b[i]-'0')
	}
	*s, *n = b[i:], v
	return i > 0
}
