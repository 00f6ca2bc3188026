package json

import (
	"maps"
	"slices"
	"strconv"
	"time"
	"unsafe"
)

// appendTo appends a value. It is one loop over the members, because a call for each
// would take longer than writing most of them.
func (l *layout) appendTo(b []byte, p unsafe.Pointer, plain bool) []byte {
	if l.append != nil {
		if b, done := l.append(b, hidden(p), plain); done {
			return b
		}
	}
	members := l.whole
	switch {
	case l.choices != nil:
		which := *(*uint8)(unsafe.Add(p, l.which))
		if int(which) >= len(l.choices) {
			if v := *(*[]byte)(unsafe.Add(p, l.spare)); len(v) > 0 {
				return append(b, v...) // none of the choices: unchanged
			}
			which = 0 // a mistake of the program's; the document stays readable
		}
		members = l.choices[which]
	case plain:
		members = l.plain
	}
	from := len(b)
	for i := range members {
		m := &members[i]
		if m.probed && *(*int)(unsafe.Add(p, m.probe)) == 0 {
			continue
		}
		whole := p
		p, optional := unsafe.Add(p, m.offset), m.optional
		switch m.kind {
		case text:
			s := *(*string)(p)
			var n int
			if b, n = appendPlain(b, m.key, s); n < len(s) {
				b = appendEscaped(b, s[n:], shortEscapes)
			}
			b = append(b, '"')
		case enum:
			v := *(*int32)(p)
			if v == 0 && (optional || l.unknown != 0 && holds(*(**[]byte)(unsafe.Add(whole, l.unknown)), m.key[len(`,"`):len(m.key)-len(`":"`)])) {
				continue
			}
			b = append(append(append(b, m.key...), m.elem.name(v)...), '"')
		case raw:
			v := *(*[]byte)(p)
			if len(v) == 0 {
				v = null
			}
			b = append(append(b, m.key...), v...)
		case objects:
			b = m.elem.appendList(append(b, m.key...), *(*[]unsafe.Pointer)(p), plain)
		case objectPointer:
			e := *(*unsafe.Pointer)(p)
			if e == nil {
				e = m.elem.zero
			}
			b = m.elem.appendTo(append(b, m.key...), e, plain)
		case object:
			b = m.elem.appendTo(append(b, m.key...), p, plain)
		case own:
			if optional && m.elem.empty(hidden(p)) {
				continue
			}
			b, _ = m.elem.append(append(b, m.key...), hidden(p), plain)
		case timestamp:
			t := *(*time.Time)(p)
			if t.IsZero() && optional {
				continue
			}
			b = AppendTime(append(b, m.key...), t)
		case texts:
			b = AppendStrings(append(b, m.key...), *(*[]string)(p))
		case textMap:
			values := *(*map[string]string)(p)
			if len(values) == 0 && optional {
				continue
			}
			b = appendMap(append(b, m.key...), values)
		case base64Bytes:
			b = AppendBase64(append(b, m.key...), *(*[]byte)(p))
		case truth:
			v := *(*bool)(p)
			if !v && optional {
				continue
			}
			b = strconv.AppendBool(append(b, m.key...), v)
		case truthPointer:
			b = strconv.AppendBool(append(b, m.key...), **(**bool)(p))
		case number:
			b = strconv.AppendInt(append(b, m.key...), int64(*(*int)(p)), 10)
		case number32:
			v := *(*int32)(p)
			if v == 0 && optional {
				continue
			}
			b = strconv.AppendInt(append(b, m.key...), int64(v), 10)
		case number32Pointer:
			b = strconv.AppendInt(append(b, m.key...), int64(**(**int32)(p)), 10)
		case number64:
			v := *(*int64)(p)
			if v == 0 && optional {
				continue
			}
			b = appendInt64(append(b, m.key...), v)
		case number64Pointer:
			b = appendInt64(append(b, m.key...), **(**int64)(p))
		}
		if m.oneof {
			break // the others cannot be there
		}
	}
	if l.unknown != 0 {
		if v := *(**[]byte)(unsafe.Add(p, l.unknown)); v != nil {
			b = append(append(b, ','), (*v)[1:len(*v)-1]...)
		}
	}
	if len(b) == from {
		return append(b, '{', '}')
	}
	b[from] = '{' // in place of the comma
	return append(b, '}')
}

var null = []byte("null")

// holds reports whether an object of unknown members has one of this name, which is then
// an enumeration with a value of a later version.
func holds(object *[]byte, name string) bool {
	if object == nil {
		return false
	}
	r := Read(*object)
	for r.Enter(); r.More(); r.Skip() {
		if string(r.Name()) == name {
			return true
		}
	}
	return false
}

// name returns the name of a value of an enumeration; a value without one has that of
// 0.
func (l *layout) name(v int32) string {
	if v < 0 || int(v) >= len(l.names) {
		v = 0
	}
	return l.names[v]
}

func (l *layout) appendMember(b []byte, p unsafe.Pointer, name string, required, plain bool) []byte {
	for i := range l.fields {
		if l.fields[i].name != name {
			continue
		}
		one := [1]member{l.fields[i].member}
		if required {
			one[0].optional, one[0].probed = false, false
		}
		alone := layout{whole: one[:], plain: one[:]}
		from := len(b)
		if b[from-1] == '{' {
			b = alone.appendTo(b[:from-1], p, plain)
			return b[:len(b)-1]
		}
		b = alone.appendTo(b, p, plain)
		if b = b[:len(b)-1]; len(b) == from+1 {
			return b[:from] // it is left out
		}
		b[from] = ','
		return b
	}
	panic("json: no member " + name)
}

// hidden lets a value that is being written stay on its owner's stack: hooks that write
// retain nothing of it, which the compiler cannot know.
//
//go:nosplit
func hidden(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
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
