package a2a

import (
	"fmt"
	"strconv"
	"strings"
)

// A fault is what is wrong with a value. It starts out without a path, and
// every level it passes on the way up puts its own name in front, so that
// paths cost nothing where nothing is wrong.
type fault struct {
	path string
	text string
}

func faultf(format string, args ...any) *fault { return &fault{text: fmt.Sprintf(format, args...)} }

// under puts a segment in front of the fault's path.
func (f *fault) under(segment string) *fault {
	if f == nil {
		return nil
	}
	if f.path != "" && f.path[0] != '[' {
		segment += "."
	}
	f.path = segment + f.path
	return f
}

func (f *fault) err() error {
	if f.path == "" {
		return Errorf(CodeInvalidParams, "%s", f.text)
	}
	return Invalid(f.path, "%s", f.text)
}

// decodable is a type that reads itself from a decoder. What it held before is
// lost; on a fault its content is undefined.
type decodable interface {
	decode(d *decoder) *fault
}

// unmarshal reads a document that may be as large as its sender likes: an
// answer or something stored.
func unmarshal(doc []byte, v decodable) error {
	return decodeDocument(doc, v, storedDepth, 0)
}

// unmarshalRequest reads a document of a client's, whose limits are enforced
// while reading, before they cost memory.
func unmarshalRequest(doc []byte, v decodable) error {
	return decodeDocument(doc, v, MaxDepth, MaxParts)
}

func decodeDocument(doc []byte, v decodable, maxDepth, maxParts int) error {
	if err := check(doc, maxDepth); err != nil {
		return err
	}
	if f := v.decode(&decoder{s: doc, maxParts: maxParts}); f != nil {
		return f.err()
	}
	return nil
}

// object reads an object and calls member for each of its members, which must
// consume the value. name is part of the document, unescaped.
func (d *decoder) object(member func(name []byte) *fault) *fault {
	return d.members(member, camel)
}

// mapping is object for a map, whose keys are anybody's and not field names.
func (d *decoder) mapping(member func(key []byte) *fault) *fault {
	return d.members(member, func(key []byte) string { return string(key) })
}

func (d *decoder) members(member func(name []byte) *fault, segment func([]byte) string) *fault {
	if d.peek() != '{' {
		return d.expected("an object")
	}
	d.i++
	for b := d.peek(); b != '}'; b = d.peek() {
		if b == ',' {
			d.i++
			d.peek()
		}
		name, escaped := d.quoted()
		if escaped {
			name = unescape(nil, name)
		}
		d.peek()
		d.i++ // the colon
		if f := member(name); f != nil {
			return f.under(segment(name))
		}
	}
	d.i++
	return nil
}

// camel returns the ProtoJSON spelling of a name that may be the proto's, so
// that paths in errors are always spelled one way.
func camel(name []byte) string {
	var b strings.Builder
	up := false
	for _, c := range name {
		switch {
		case c == '_':
			up = true
			continue
		case up && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		b.WriteByte(c)
	}
	return b.String()
}

// ignore consumes a value that means nothing to us (specification §5.7).
func (d *decoder) ignore() *fault {
	d.skip()
	return nil
}

// array reads an array and calls element with the index of each element, which
// it must consume. null is an empty array.
func (d *decoder) array(element func(i int) *fault) *fault {
	if d.null() {
		return nil
	}
	if d.peek() != '[' {
		return d.expected("an array")
	}
	d.i++
	n := 0
	for b := d.peek(); b != ']'; b = d.peek() {
		if b == ',' {
			d.i++
		}
		if f := element(n); f != nil {
			return f.under("[" + strconv.Itoa(n) + "]")
		}
		n++
	}
	d.i++
	return nil
}

// pointer reads an object into a new value; null is nil.
func pointer[T any, P interface {
	*T
	decodable
}](d *decoder, p **T) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = new(T)
	return P(*p).decode(d)
}

// plain reads an object into a value; null is its zero value.
func plain[T any, P interface {
	*T
	decodable
}](d *decoder, p *T) *fault {
	if d.null() {
		var zero T
		*p = zero
		return nil
	}
	return P(p).decode(d)
}

// list reads an array of objects.
func list[T any, P interface {
	*T
	decodable
}](d *decoder, p *[]*T) *fault {
	*p = nil
	return d.array(func(int) *fault {
		v := new(T)
		*p = append(*p, v)
		return P(v).decode(d)
	})
}

// choice is a member of a oneof.
type choice struct {
	name string
	set  bool
}

// atMostOne is a fault if two members of a oneof are set.
func atMostOne(choices ...choice) *fault {
	first := ""
	for _, c := range choices {
		switch {
		case !c.set:
		case first == "":
			first = c.name
		default:
			return faultf("has both %s and %s, but only one may be set", first, c.name)
		}
	}
	return nil
}
