package a2a

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
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

// string reads a string into p; null is "".
func (d *decoder) string(p *string) *fault {
	*p = ""
	if d.null() {
		return nil
	}
	return d.text(p)
}

func (d *decoder) text(p *string) *fault {
	if d.peek() != '"' {
		return d.expected("a string")
	}
	s, escaped := d.quoted()
	if escaped {
		s = unescape(make([]byte, 0, len(s)), s)
	}
	*p = string(s)
	return nil
}

func (d *decoder) strings(p *[]string) *fault {
	*p = nil
	return d.array(func(int) *fault {
		var s string
		f := d.text(&s)
		*p = append(*p, s)
		return f
	})
}

func (d *decoder) textMap(p *map[string]string) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = map[string]string{}
	return d.mapping(func(key []byte) *fault {
		var s string
		f := d.text(&s)
		(*p)[string(key)] = s
		return f
	})
}

func (d *decoder) bool(p *bool) *fault {
	*p = false
	switch d.peek() {
	case 't':
		*p = true
	case 'f', 'n':
	default:
		return d.expected("true or false")
	}
	d.literal()
	return nil
}

// boolPointer is bool for a field that is nil unless set.
func (d *decoder) boolPointer(p **bool) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = new(bool)
	return d.bool(*p)
}

// int32 reads a number, or one written as a string, as ProtoJSON allows; null
// is 0.
func (d *decoder) int32(p *int32) *fault {
	*p = 0
	var text []byte
	switch b := d.peek(); {
	case b == 'n':
		d.null()
		return nil
	case b == '"':
		text, _ = d.quoted() // an escape makes it no number
		if c := (checker{s: text}); len(text) > maxNumber || !c.number() || c.i != len(text) {
			return faultf("expected a whole number, got the string %s", excerpt(text))
		}
	case b == '-' || b-'0' <= 9:
		text = d.literal()
	default:
		return d.expected("a whole number")
	}
	n, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil || n < math.MinInt32 || n > math.MaxInt32:
		return faultf("expected a number from %d to %d", math.MinInt32, math.MaxInt32)
	case n != math.Trunc(n):
		return faultf("expected a whole number, got %s", excerpt(text))
	}
	*p = int32(n)
	return nil
}

// maxNumber is the longest string that is taken for a number.
const maxNumber = 64

// int32Pointer is int32 for a field that is nil unless set.
func (d *decoder) int32Pointer(p **int32) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	*p = new(int32)
	return d.int32(*p)
}

// bytes reads base64, standard or URL-safe, padded or not; the caller has
// handled null.
func (d *decoder) bytes(p *[]byte) *fault {
	*p = nil
	if d.peek() != '"' {
		return d.expected("a string in base64")
	}
	s, escaped := d.quoted()
	if escaped {
		s = unescape(nil, s) // some encoders escape the slash
	}
	enc := base64.StdEncoding
	if bytes.IndexByte(s, '-') >= 0 || bytes.IndexByte(s, '_') >= 0 {
		enc = base64.URLEncoding
	}
	if n := len(s); n == 0 || s[n-1] != '=' {
		enc = enc.WithPadding(base64.NoPadding)
	}
	out := make([]byte, enc.DecodedLen(len(s)))
	n, err := enc.Decode(out, s)
	if err != nil {
		return faultf("expected base64: %v", err)
	}
	*p = out[:n]
	return nil
}

// any keeps a value of any kind, null included, byte for byte.
func (d *decoder) any(p *JSON) *fault {
	*p = bytes.Clone(d.skip())
	return nil
}

// free keeps an object byte for byte; null is unset.
func (d *decoder) free(p *JSON) *fault {
	*p = nil
	if d.null() {
		return nil
	}
	if d.peek() != '{' {
		return d.expected("an object")
	}
	return d.any(p)
}

// excerpt quotes the beginning of foreign text.
func excerpt(s []byte) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(string(s[:most])) + "…"
	}
	return strconv.Quote(string(s))
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
