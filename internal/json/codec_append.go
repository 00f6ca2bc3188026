package json

import (
	"maps"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

func (l *layout) appendTo(b []byte, p unsafe.Pointer, plain bool) []byte {
	if l.append != nil {
		if b, done := l.append(b, hidden(p), plain); done {
			return b
		}
	}
	return append(appendFields(append(b, '{'), p, l.fields, plain), '}')
}

// appendFields appends the members that are not left out. It is one loop, since a
// call for each field would take longer than most of them.
func appendFields(b []byte, p unsafe.Pointer, fields []field, plain bool) []byte {
	skip := alias
	if plain {
		skip |= draft
	}
	for i := range fields {
		f := &fields[i]
		if f.flags&skip != 0 {
			continue
		}
		p, from, optional := unsafe.Add(p, f.offset), len(b), f.flags&optional != 0
		switch f.kind {
		case text:
			s := *(*string)(p)
			if s == "" && optional {
				continue
			}
			b = f.begin(b)
			if Plain(s) < len(s) {
				b = AppendString(b, s)
			} else {
				b = append(append(append(b, '"'), s...), '"')
			}
		case raw:
			if v := *(*[]byte)(p); len(v) > 0 {
				b = append(f.begin(b), v...)
			}
		case objects:
			if list := *(*[]unsafe.Pointer)(p); len(list) > 0 || !optional {
				b = f.elem.appendList(f.begin(b), list, plain)
			}
		case objectPointer:
			if e := *(*unsafe.Pointer)(p); e != nil {
				b = f.elem.appendTo(f.begin(b), e, plain)
			} else if !optional {
				b = f.elem.appendTo(f.begin(b), f.elem.zero, plain)
			}
		case object:
			b = f.elem.appendTo(f.begin(b), p, plain)
		case own:
			if !optional || !f.elem.empty(hidden(p)) {
				b, _ = f.elem.append(f.begin(b), hidden(p), plain)
			}
		case timestamp:
			if t := *(*time.Time)(p); !t.IsZero() || !optional {
				b = AppendTime(f.begin(b), t)
			}
		case texts:
			if list := *(*[]string)(p); len(list) > 0 || !optional {
				b = AppendStrings(f.begin(b), list)
			}
		case textMap:
			if m := *(*map[string]string)(p); len(m) > 0 || !optional {
				b = appendMap(f.begin(b), m)
			}
		case base64Bytes:
			b = AppendBase64(f.begin(b), *(*[]byte)(p))
		case truth:
			if v := *(*bool)(p); v || !optional {
				b = strconv.AppendBool(f.begin(b), v)
			}
		case truthPointer:
			if v := *(**bool)(p); v != nil {
				b = strconv.AppendBool(f.begin(b), *v)
			}
		case number:
			if v := *(*int)(p); v != 0 || !optional {
				b = strconv.AppendInt(f.begin(b), int64(v), 10)
			}
		case number32:
			if v := *(*int32)(p); v != 0 || !optional {
				b = strconv.AppendInt(f.begin(b), int64(v), 10)
			}
		case number32Pointer:
			if v := *(**int32)(p); v != nil {
				b = strconv.AppendInt(f.begin(b), int64(*v), 10)
			}
		case number64:
			if v := *(*int64)(p); v != 0 || !optional {
				b = appendInt64(f.begin(b), v)
			}
		case number64Pointer:
			if v := *(**int64)(p); v != nil {
				b = appendInt64(f.begin(b), *v)
			}
		}
		if f.flags&oneof != 0 && len(b) > from {
			break // the others cannot be there
		}
	}
	return b
}

func (l *layout) appendMember(b []byte, p unsafe.Pointer, name string, required bool) []byte {
	for i := range l.fields {
		if l.fields[i].name != name {
			continue
		}
		one := [1]field{l.fields[i]}
		if required {
			one[0].flags &^= optional
		}
		return appendFields(b, p, one[:], false)
	}
	panic("json: no member " + name)
}

// hidden keeps a value that is written on the stack of whoever has it there: hooks
// that write keep nothing of it, which the compiler cannot know.
//
//go:nosplit
func hidden(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// begin appends the name.
func (f *field) begin(b []byte) []byte {
	if b[len(b)-1] == '{' {
		return append(b, f.key[1:]...)
	}
	return append(b, f.key...)
}

func (l *layout) appendList(b []byte, list []unsafe.Pointer, plain bool) []byte {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if e == nil {
			e = l.zero // a mistake of the program's; the document stays readable
		}
		b = l.appendTo(b, e, plain)
	}
	return append(b, ']')
}

func appendMap(b []byte, m map[string]string) []byte {
	b = append(b, '{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = AppendString(AppendName(b, k), m[k])
	}
	return append(b, '}')
}

// appendInt64 writes a string, as ProtoJSON does: readers that take numbers for
// float64 would lose digits.
func appendInt64(b []byte, v int64) []byte {
	return append(strconv.AppendInt(append(b, '"'), v, 10), '"')
}

// AppendStrings appends an array of strings.
func AppendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, s)
	}
	return append(b, ']')
}
