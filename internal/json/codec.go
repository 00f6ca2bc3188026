package json

import (
	"reflect"
	"unsafe"
)

// A Codec writes and reads values of one type. For a struct it follows the tags of
// the fields, as encoding/json does, in their order. In the tag json,
//
//   - omitempty omits a member if it is empty; others are REQUIRED and always written,
//     even empty objects and lists.
//
// In the tag form,
//
//   - draft marks a member that AppendPlain omits,
//   - oneof marks members of which at most one may be set; the first one that is set is
//     written,
//   - choice marks members of which one is selected by a field of one byte, which is
//     tagged which and is no member itself: 1 selects the first. The selected member is
//     written before all others, even if it is empty,
//   - any lets raw JSON be any value; otherwise it has to be an object,
//   - bounded applies Reader.Bound to a list,
//   - unknown marks a field that is no member itself: a pointer to raw JSON, an object
//     of the unknown members, if Reader.Keep keeps them, and of the enumerations with an
//     unknown value. They are written last.
//
// A field of a named type of bytes is raw JSON. Names are read in camelCase and in
// snake_case; of equal names the last counts; null counts as absent (except with any);
// unknown members are skipped, unless Reader.Keep keeps them.
//
// Codecs are made while a package is initialized; they may be used concurrently.
type Codec[T any] struct{ layout *layout }

// Hooks define what the fields of a type cannot express. Each may be nil.
type Hooks[T any] struct {
	// Names are the names of an enumeration's values, from 0. A value without a name is
	// written as the first.
	Names []string
	// Append writes a value and retains nothing of it. If it returns false, the fields
	// are written as usual.
	Append func(b []byte, v *T, plain bool) ([]byte, bool)
	// Read reads a value, which may be null, into v, which is empty. Values in Names
	// are read without it.
	Read func(r *Reader, v *T) *Fault
	// After checks what was read.
	After func(v *T, seen Seen) *Fault
	// Empty reports whether an optional value is omitted. It is for types that are
	// neither structs nor enumerations.
	Empty func(v *T) bool
}

// Seen says which members of an object were there and not null: bit i stands for field
// i.
type Seen uint64

// Has reports whether the field with this index was seen.
func (s Seen) Has(i int) bool { return s>>i&1 != 0 }

// For returns the codec of a type. Hooks apply wherever the type occurs.
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

// AppendMember appends the member with this name to an object. An optional one is
// omitted if it is empty, unless required is set.
func (c Codec[T]) AppendMember(b []byte, v *T, name string, required bool) []byte {
	return c.layout.appendMember(b, unsafe.Pointer(v), name, required, false)
}

// AppendPlainMember is AppendMember for a member that is not required here, without
// what is tagged draft.
func (c Codec[T]) AppendPlainMember(b []byte, v *T, name string) []byte {
	return c.layout.appendMember(b, unsafe.Pointer(v), name, false, true)
}

// Read reads a value into v, which must be empty. On a fault its content is
// undefined.
func (c Codec[T]) Read(r *Reader, v *T) *Fault { return c.layout.readFrom(r, unsafe.Pointer(v)) }
