package a2a

import (
	"bytes"
	"sync/atomic"
)

// Shared holds the encoded forms of one event for all its readers: the first reader of a
// form encodes it, the others copy it. It is safe for concurrent use. Its documents have
// no line breaks, so that they fit into a server-sent event, and must not be changed.
type Shared struct {
	stored []byte // see NewShared
	first  atomic.Pointer[form]
}

// form is the event in one form. The list of forms grows only at its beginning.
type form struct {
	key  uint64
	doc  []byte
	next *form
}

// maxForms bounds what is kept of an event. There are as many forms as versions and
// bindings, and more only for versions whose events depend on earlier ones.
const maxForms = 8

// NewShared returns an empty Shared. stored, if not nil, is the output of AppendJSON
// for the event with its generation, as a log holds it.
func NewShared(stored []byte) *Shared {
	s := new(Shared)
	s.Init(stored)
	return s
}

// Init is NewShared for one of many that were allocated together.
func (s *Shared) Init(stored []byte) {
	if bytes.IndexByte(stored, '\n') >= 0 || bytes.IndexByte(stored, '\r') >= 0 {
		stored = OneLine(bytes.Clone(stored)) // a log stores the text unchanged
	}
	s.stored = stored
}

// Stored returns what NewShared was given, in one line; nil if nothing.
func (s *Shared) Stored() []byte { return s.stored }

// Load returns the event in the form of this key, or nil. The encoder chooses the keys.
func (s *Shared) Load(key uint64) []byte {
	for f := s.first.Load(); f != nil; f = f.next {
		if f.key == key {
			return f.doc
		}
	}
	return nil
}

// Store keeps the event in a form for others, as long as there are not too many.
// The Shared owns doc from then on.
func (s *Shared) Store(key uint64, doc []byte) {
	in := &form{key: key, doc: doc}
	for {
		in.next = s.first.Load()
		n := 0
		for f := in.next; f != nil; f = f.next {
			if n++; f.key == key || n == maxForms {
				return
			}
		}
		if s.first.CompareAndSwap(in.next, in) {
			return
		}
	}
}

// OneLine replaces the line breaks of a JSON document by blanks, in place, so that it
// fits into one line of a stream. A JSON string cannot contain a line break, so no value
// changes.
func OneLine(json []byte) []byte {
	for _, c := range []byte{'\n', '\r'} {
		for b := json; ; {
			i := bytes.IndexByte(b, c)
			if i < 0 {
				break
			}
			b[i] = ' '
			b = b[i+1:]
		}
	}
	return json
}
