package json

import (
	"reflect"
	"unsafe"
)

// A Codec writes and reads values of one type. For a struct it follows the tags of
// the fields, as encoding/json does, in their order. In the tag json,
//
//   - omitempty leaves a member out where it is empty; others are REQUIRED and
//     always written, objects and lists too.
//
// In the tag form,
//
//   - draft marks a member that AppendPlain leaves out,
//   - oneof marks those of which at most one may be there; the first is written,
//   - choice marks those of which a field of one byte, which is tagged which and is no
//     member itself, says which one is there: 1 is the first. That one is written in
//     front of all else, even if it is empty,
//   - any lets raw JSON be any value, where otherwise it has to be an object,
//   - bounded lets Reader.Bound bound a list,
//   - unknown marks a field that is no member itself: a pointer to raw JSON, an object of the
//     members that are not known, if Reader.Keep keeps them. They are written last.
//
// A field of raw JSON is one of a named type of bytes. Names are read in camelCase
// and in snake_case, of equal names the last counts, null is as good as absent
// (but for any), and unknown members are passed over, unless Reader.Keep keeps them.
//
// Codecs are made while a package is initialized; they may be used concurrently.
type Codec[T any] struct{ layout *layout }

// Hooks are for what a table of fields cannot say about a type. Each may be nil.
type Hooks[T any] struct {
	// Names are those of the values of an enumeration, from 0. A value without one is
	// written as the first.
	Names []string
	// Append writes a value, of which it keeps nothing. With false, the fields are
	// written as they are.
	Append func(b []byte, v *T, plain bool) ([]byte, bool)
	// Read reads a value, which may be null, into v, which is empty. Names that are
	// given above are read without it.
	Read func(r *Reader, v *T) *Fault
	// After looks at what was read.
	After func(v *T, seen Seen) *Fault
	// Empty reports whether a value is left out where it is optional. It is for
	// types that are neither structs nor enumerations.
	Empty func(v *T) bool
}

// Seen says which members of an object were there and not null, by bits in the
// order of the fields.
type Seen uint64

// Has reports whether the field with this index was seen.
func (s Seen) Has(i int) bool { return s>>i&1 != 0 }

// For returns the codec of a type. Hooks count wherever the type occurs.
func For[T any](hooks ...Hooks[T]) Codec[T] {
	l := layoutOf(reflect.TypeFor[T]())
	for _, h := range hooks {
		if h.Names != nil {
			l.names = h.Names
		}
		if h.Append != nil {
			l.append = func(b []byte, p unsafe.Pointer, plain bool) ([]byte, bool) { return h.Append(b, (*T)(p), plain) }
		}
		if h.Read != nil {
			l.read = func(r *Reader, p unsafe.Pointer) *Fault { return h.Read(r, (*T)(p)) }
		}
		if h.After != nil {
			l.after = func(p unsafe.Pointer, seen Seen) *Fault { return h.After((*T)(p), seen) }
		}
		if h.Empty != nil {
			l.empty = func(p unsafe.Pointer) bool { return h.Empty((*T)(p)) }
		}
	}
	return Codec[T]{l}
}

// Append appends a value.
func (c Codec[T]) Append(b []byte, v *T) []byte {
	return c.layout.appendTo(b, unsafe.Pointer(v), false)
}

// AppendPlain appends a value without the members that are tagged draft.
func (c Codec[T]) AppendPlain(b []byte, v *T) []byte {
	return c.layout.appendTo(b, unsafe.Pointer(v), true)
}

// AppendMember appends the member of an object that is tagged with this name. It
// may be left out where it is optional, unless it is required here.
func (c Codec[T]) AppendMember(b []byte, v *T, name string, required bool) []byte {
	return c.layout.appendMember(b, unsafe.Pointer(v), name, required, false)
}

// AppendPlainMember is AppendMember of a member that may be left out, without what is
// tagged draft.
func (c Codec[T]) AppendPlainMember(b []byte, v *T, name string) []byte {
	return c.layout.appendMember(b, unsafe.Pointer(v), name, false, true)
}

// Read reads a value into v, which must be empty. On a fault its content is
// undefined.
func (c Codec[T]) Read(r *Reader, v *T) *Fault { return c.layout.readFrom(r, unsafe.Pointer(v)) }
