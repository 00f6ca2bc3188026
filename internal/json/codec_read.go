package json

import (
	"bytes"
	"math/bits"
	"reflect"
	"slices"
	"time"
	"unsafe"
)

// readFrom reads a value into p, which must be empty.
func (l *layout) readFrom(r *Reader, p unsafe.Pointer) *Fault {
	if l.read != nil {
		return l.read(r, p)
	}
	if r.Peek() != '{' {
		return r.Expected("an object")
	}
	var seen Seen
	next := 0
	for r.Enter(); r.More(); {
		from := r.at
		i := l.member(r, next)
		if i < 0 {
			r.Skip() // it means nothing to us (A2A specification §5.7)
			if r.Keep && l.unknown != 0 {
				keep((**[]byte)(unsafe.Add(p, l.unknown)), r.doc[from:r.at])
			}
			continue
		}
		next = i + 1
		f, bit := &l.fields[i], Seen(1)<<i
		at := unsafe.Add(p, f.offset)
		if seen&bit != 0 { // a second time
			reflect.NewAt(f.of, at).Elem().SetZero()
			seen &^= bit
		}
		if f.flags&free == 0 && r.Null() {
			continue
		}
		seen |= bit
		from = r.at
		if fault := f.readFrom(r, at); fault != nil {
			return fault.Under(f.name)
		}
		if r.Keep && f.kind == enum && l.unknown != 0 && *(*int32)(at) == 0 {
			keep((**[]byte)(unsafe.Add(p, l.unknown)), append([]byte(f.begin), r.doc[from:r.at]...))
		}
	}
	if one := seen & l.oneofs; one&(one-1) != 0 {
		return l.tooMany(one)
	}
	if l.after != nil {
		return l.after(p, seen)
	}
	return nil
}

// keep makes p a value that is none of the choices.
func (l *layout) keep(p unsafe.Pointer, value []byte) {
	reflect.NewAt(l.of, p).Elem().SetZero()
	*(*uint8)(unsafe.Add(p, l.which)) = uint8(len(l.choices))
	*(*[]byte)(unsafe.Add(p, l.spare)) = bytes.Clone(value)
}

// keep adds a member to an object of unknown members.
func keep(object **[]byte, member []byte) {
	if *object == nil {
		*object = &[]byte{'{', '}'}
	}
	v := (*object)
	b := (*v)[:len(*v)-1]
	if len(b) > 1 {
		b = append(b, ',')
	}
	*v = append(append(b, member...), '}')
}

// member consumes the name of a member and returns the index of its field, -1 if it is
// unknown. It first tries the next fields, spelled as we write them.
func (l *layout) member(r *Reader, next int) int {
	rest := r.doc[r.at:]
	for i := next; i < len(l.fields); i++ {
		if name := l.fields[i].begin; len(rest) >= len(name) && string(rest[:len(name)]) == name {
			r.at += len(name)
			return i
		}
	}
	name := r.Name()
	for i := range l.fields {
		if string(name) == l.fields[i].name {
			return i
		}
	}
	for i := range l.fields {
		if s := l.fields[i].snake; s != "" && string(name) == s {
			return i
		}
	}
	return -1
}

// tooMany returns the fault of an object with several members of a oneof.
func (l *layout) tooMany(seen Seen) *Fault {
	first := l.fields[bits.TrailingZeros64(uint64(seen))].name
	second := l.fields[bits.TrailingZeros64(uint64(seen&(seen-1)))].name
	return Faultf("has both %s and %s, but only one may be set", first, second)
}

// readFrom reads a value that is not null into p, which must be empty.
func (f *field) readFrom(r *Reader, p unsafe.Pointer) (fault *Fault) {
	switch f.kind {
	case text:
		*(*string)(p), fault = r.Text()
	case raw:
		if f.flags&free == 0 && r.Peek() != '{' {
			return r.Expected("an object")
		}
		*(*[]byte)(p) = bytes.Clone(r.Skip())
	case objects:
		return f.list(r, (*[]unsafe.Pointer)(p))
	case objectPointer:
		v := reflect.New(f.elem.of).UnsafePointer()
		*(*unsafe.Pointer)(p) = v
		return f.elem.readFrom(r, v)
	case enum:
		if r.Peek() == '"' {
			from := r.at
			text, _ := r.quoted()
			if i := slices.Index(f.elem.names, string(text)); i >= 0 {
				*(*int32)(p) = int32(i)
				return nil
			}
			r.at = from
		}
		return f.elem.readFrom(r, p)
	case object, own:
		return f.elem.readFrom(r, p)
	case timestamp:
		*(*time.Time)(p), fault = r.time()
	case texts:
		*(*[]string)(p), fault = r.Texts()
	case textMap:
		m := map[string]string{}
		*(*map[string]string)(p) = m
		return r.Members(func(name string) (fault *Fault) {
			m[name], fault = r.Text()
			return fault
		})
	case base64Bytes:
		*(*[]byte)(p), fault = r.base64()
	case truth:
		*(*bool)(p), fault = r.truth()
	case truthPointer:
		v, fault := r.truth()
		*(**bool)(p) = &v
		return fault
	case number:
		n, fault := r.Int32()
		*(*int)(p) = int(n)
		return fault
	case number32:
		*(*int32)(p), fault = r.Int32()
	case number32Pointer:
		n, fault := r.Int32()
		*(**int32)(p) = &n
		return fault
	case number64:
		*(*int64)(p), fault = r.int64()
	case number64Pointer:
		n, fault := r.int64()
		*(**int64)(p) = &n
		return fault
	}
	return fault
}

// list reads an array of objects.
func (f *field) list(r *Reader, p *[]unsafe.Pointer) *Fault {
	if r.Peek() != '[' {
		return r.Expected("an array")
	}
	n := 0
	for r.Enter(); r.More(); n++ {
		if f.flags&bounded != 0 && r.Bound != nil && n >= r.Bound.Elements {
			return Faultf("%s", r.Bound.TooMany)
		}
		v := reflect.New(f.elem.of).UnsafePointer()
		*p = append(*p, v)
		r.Peek()
		from := r.at
		if fault := f.elem.readFrom(r, v); fault != nil {
			if !r.Keep || f.elem.choices == nil {
				return fault.at(n)
			}
			r.at = from
			f.elem.keep(v, r.Skip())
		}
	}
	return nil
}
