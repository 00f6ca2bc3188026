package json

import (
	"fmt"
	"reflect"
	"strings"
	"time"
	"unsafe"
)

// A layout is what is needed to write and to read a Go type: for a struct, the members
// of its object and where they are in the struct.
type layout struct {
	of     reflect.Type
	fields []field
	oneofs Seen           // the fields of its oneof
	zero   unsafe.Pointer // an empty value, for a REQUIRED member that is nil
	names  []string       // of an enumeration

	whole, plain []member   // members to write, and those of the plain form
	choices      [][]member // used instead: without any choice, and with each
	which        uintptr    // the offset of the field that selects one
	spare        uintptr    // the offset of the last choice, which holds a value that is none of them
	unknown      uintptr    // the offset of the field for unknown members; 0 if there is none

	append func(b []byte, p unsafe.Pointer, plain bool) ([]byte, bool)
	read   func(r *Reader, p unsafe.Pointer) *Fault
	after  func(p unsafe.Pointer, seen Seen) *Fault
	empty  func(p unsafe.Pointer) bool
}

// A member is what is needed of a field to write it.
type member struct {
	key      string // `,"name":`, with the first quote of a text or of an enumeration's name
	offset   uintptr
	probe    uintptr // the offset of a word that is 0 if the member is omitted; used if probed
	probed   bool
	elem     *layout // of objects and of own types
	kind     kind
	optional bool
	oneof    bool
}

// A field is one member and what is needed to read it.
type field struct {
	member
	flags flags
	of    reflect.Type
	name  string
	begin string // `"name":`
	snake string // the proto's name, if it differs
}

// flags are the options of a tag.
type flags uint8

const (
	optional flags = 1 << iota // omitempty: omitted if it is empty
	draft                      // omitted in the plain form
	oneof                      // at most one of those with this flag may be there
	free                       // any: raw JSON of any kind; otherwise it is an object
	bounded                    // Reader.Bound applies
	choice                     // one of several, of which another field selects one
	alias                      // read, but not written: another name of a field
)

var options = map[string]flags{"omitempty": optional, "omitzero": optional, "draft": draft, "oneof": oneof | optional, "any": free, "bounded": bounded, "choice": choice}

type kind uint8

const (
	text kind = iota
	texts
	textMap
	truth
	truthPointer
	number
	number32
	number32Pointer
	number64
	number64Pointer
	timestamp
	base64Bytes
	raw
	object
	objectPointer
	objects
	enum
	own // a type with hooks that is no struct
)

// layouts has the layouts of all types, made while packages are initialized.
var layouts = map[reflect.Type]*layout{}

func layoutOf(t reflect.Type) *layout {
	if l := layouts[t]; l != nil {
		return l
	}
	l := &layout{of: t, zero: reflect.New(t).UnsafePointer()}
	layouts[t] = l
	if t.Kind() == reflect.Struct {
		l.add(t, 0)
	}
	for i := range l.fields {
		if l.fields[i].flags&oneof != 0 {
			l.oneofs |= 1 << i
		}
	}
	if len(l.fields) > 64 {
		panic(fmt.Sprintf("json: %v has too many fields", t))
	}
	l.whole, l.plain = l.without(alias), l.without(alias|draft)
	var choices []member
	for _, f := range l.fields {
		if f.flags&choice != 0 {
			choices, l.spare = append(choices, f.member), f.offset
		}
	}
	if choices != nil {
		rest := l.without(alias | choice)
		l.choices = append(l.choices, rest)
		for _, c := range choices {
			l.choices = append(l.choices, append([]member{c}, rest...))
		}
	}
	return l
}

// without returns the fields that have none of these flags.
func (l *layout) without(set flags) (list []member) {
	for _, f := range l.fields {
		if f.flags&set == 0 {
			list = append(list, f.member)
		}
	}
	return list
}

// add adds the fields of a struct, and of those that are embedded in it. Of equal
// names the outer one counts.
func (l *layout) add(t reflect.Type, offset uintptr) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			l.add(f.Type, offset+f.Offset)
			continue
		}
		names, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		options += "," + f.Tag.Get("form")
		if names == "-" {
			switch f.Tag.Get("form") {
			case "which":
				l.which = offset + f.Offset
			case "unknown":
				l.unknown = offset + f.Offset
			}
			continue
		}
		if names == "" {
			panic(fmt.Sprintf("json: %v.%s has no name", t, f.Name))
		}
		set := flags(0)
		for name := range strings.SplitSeq(names, "|") {
			l.field(f.Type, name, options, offset+f.Offset, set)
			set = alias
		}
	}
}

func (l *layout) field(t reflect.Type, name, tag string, offset uintptr, set flags) {
	for _, option := range strings.Split(tag, ",") {
		set |= options[option]
	}
	f := field{name: name, begin: `"` + name + `":`, of: t, flags: set}
	if s := Snake(name); s != name {
		f.snake = s
	}
	f.kind, f.elem = kindOf(t)
	f.key, f.offset, f.optional, f.oneof = ","+f.begin, offset, set&optional != 0, set&oneof != 0
	if f.kind == text || f.kind == enum {
		f.key += `"`
	}
	switch f.kind {
	case text, texts, raw, objects: // by their length
		f.probe, f.probed = offset+unsafe.Sizeof(uintptr(0)), f.optional
	case number, objectPointer:
		f.probe, f.probed = offset, f.optional
	case truthPointer, number32Pointer, number64Pointer:
		f.probe, f.probed = offset, true
	}
	for i := range l.fields {
		if l.fields[i].name == name {
			l.fields[i] = f
			return
		}
	}
	l.fields = append(l.fields, f)
}

func kindOf(t reflect.Type) (kind, *layout) {
	named := t.PkgPath() != ""
	switch t.Kind() {
	case reflect.String:
		return text, nil
	case reflect.Bool:
		return truth, nil
	case reflect.Int:
		return number, nil
	case reflect.Int64:
		return number64, nil
	case reflect.Int32:
		if named {
			return enum, layoutOf(t)
		}
		return number32, nil
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return timestamp, nil
		}
		return object, layoutOf(t)
	case reflect.Pointer:
		switch e := t.Elem(); e.Kind() {
		case reflect.Bool:
			return truthPointer, nil
		case reflect.Int32:
			return number32Pointer, nil
		case reflect.Int64:
			return number64Pointer, nil
		case reflect.Struct:
			return objectPointer, layoutOf(e)
		}
	case reflect.Slice:
		switch e := t.Elem(); e.Kind() {
		case reflect.Uint8:
			if named {
				return raw, nil
			}
			return base64Bytes, nil
		case reflect.String:
			return texts, nil
		case reflect.Pointer:
			return objects, layoutOf(e.Elem())
		}
	case reflect.Map:
		if t.Elem().Kind() == reflect.String {
			return textMap, nil
		}
	}
	return own, layoutOf(t)
}

// Snake returns the proto's spelling of a name in camelCase.
func Snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
