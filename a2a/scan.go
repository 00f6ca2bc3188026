package a2a

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest in a request, the request
// itself being the first level.
const MaxDepth = 100

// storedDepth bounds the nesting of everything else: answers wrap what a
// request carried a few levels deeper, and a log must stay readable whatever
// an agent put into it.
const storedDepth = 10000

// check reports what keeps doc from being one JSON value of at most maxDepth
// levels, in UTF-8. Everything after it relies on a valid document, so it runs
// once, before a decoder.
func check(doc []byte, maxDepth int) *Error {
	c := checker{s: doc, max: maxDepth}
	ok := c.value(1)
	if ok {
		c.space()
		ok = c.i == len(doc)
	}
	switch {
	case c.deep:
		return Errorf(CodeInvalidParams, "the JSON nests more than %d levels deep; send it flatter", maxDepth)
	case !ok && c.i >= len(doc):
		return Errorf(CodeParse, "the JSON ends too early, after %d bytes", len(doc))
	case !ok:
		return Errorf(CodeParse, "not JSON: unexpected %q at byte %d", doc[c.i], c.i)
	case !utf8.Valid(doc):
		return Errorf(CodeParse, "not JSON: the text is not UTF-8")
	}
	return nil
}

// valid reports whether v is one JSON value.
func valid(v JSON) bool { return check(v, storedDepth) == nil }

// checker walks over bytes of unknown worth. Its methods return false with i
// on the offending byte.
type checker struct {
	s    []byte
	i    int
	max  int
	deep bool // the reason is the nesting, not the syntax
}

func (c *checker) space() {
	for c.i < len(c.s) {
		switch c.s[c.i] {
		case ' ', '\t', '\n', '\r':
			c.i++
		default:
			return
		}
	}
}

// next skips space and consumes b if it is the next byte.
func (c *checker) next(b byte) bool {
	c.space()
	if c.i < len(c.s) && c.s[c.i] == b {
		c.i++
		return true
	}
	return false
}

func (c *checker) value(depth int) bool {
	c.space()
	if c.i >= len(c.s) {
		return false
	}
	switch b := c.s[c.i]; b {
	case '{', '[':
		if depth > c.max {
			c.deep = true
			return false
		}
		c.i++
		if b == '{' {
			return c.members(depth)
		}
		return c.elements(depth)
	case '"':
		return c.str()
	case 't':
		return c.word("true")
	case 'f':
		return c.word("false")
	case 'n':
		return c.word("null")
	}
	return c.number()
}

func (c *checker) members(depth int) bool {
	if c.next('}') {
		return true
	}
	for {
		c.space()
		if c.i >= len(c.s) || c.s[c.i] != '"' || !c.str() || !c.next(':') || !c.value(depth+1) {
			return false
		}
		if c.next('}') {
			return true
		}
		if !c.next(',') {
			return false
		}
	}
}

func (c *checker) elements(depth int) bool {
	if c.next(']') {
		return true
	}
	for {
		if !c.value(depth + 1) {
			return false
		}
		if c.next(']') {
			return true
		}
		if !c.next(',') {
			return false
		}
	}
}

// str consumes a string, whose opening quote is at i.
func (c *checker) str() bool {
	for c.i++; c.i < len(c.s); c.i++ {
		switch b := c.s[c.i]; {
		case b == '"':
			c.i++
			return true
		case b < ' ':
			return false
		case b == '\\' && !c.escape():
			return false
		}
	}
	return false
}

// escape moves from a backslash to the last byte of its sequence.
func (c *checker) escape() bool {
	c.i++
	if c.i >= len(c.s) {
		return false
	}
	switch c.s[c.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			c.i++
			if c.i >= len(c.s) || unhex(c.s[c.i]) < 0 {
				return false
			}
		}
		return true
	}
	return false
}

func (c *checker) word(w string) bool {
	for k := range len(w) {
		if c.i >= len(c.s) || c.s[c.i] != w[k] {
			return false
		}
		c.i++
	}
	return true
}

func (c *checker) digits() bool {
	from := c.i
	for c.i < len(c.s) && c.s[c.i]-'0' <= 9 {
		c.i++
	}
	return c.i > from
}

func (c *checker) at(b byte) bool { return c.i < len(c.s) && c.s[c.i] == b }

func (c *checker) number() bool {
	if c.at('-') {
		c.i++
	}
	if c.at('0') {
		c.i++
	} else if !c.digits() {
		return false
	}
	if c.at('.') {
		c.i++
		if !c.digits() {
			return false
		}
	}
	if c.at('e') || c.at('E') {
		c.i++
		if c.at('+') || c.at('-') {
			c.i++
		}
		return c.digits()
	}
	return true
}

// decoder reads forward through a document that check has passed. Every method
// that reads consumes exactly one value.
type decoder struct {
	s        []byte
	i        int
	maxParts int // of a message; 0 means any number
}

// peek moves to the next token and returns its first byte.
func (d *decoder) peek() byte {
	for d.s[d.i] <= ' ' {
		d.i++
	}
	return d.s[d.i]
}

// null consumes a null, if there is one.
func (d *decoder) null() bool {
	if d.peek() != 'n' {
		return false
	}
	d.i += len("null")
	return true
}

// quoted consumes a string and returns what is between its quotes, a part of
// the document, and whether it has escapes.
func (d *decoder) quoted() (text []byte, escaped bool) {
	d.i++
	from := d.i
	end := from + bytes.IndexByte(d.s[from:], '"')
	slash := bytes.IndexByte(d.s[from:end], '\\')
	if slash < 0 {
		d.i = end + 1
		return d.s[from:end], false
	}
	for d.i += slash; d.s[d.i] != '"'; d.i++ {
		if d.s[d.i] == '\\' {
			d.i++
		}
	}
	d.i++
	return d.s[from : d.i-1], true
}

// literal consumes a number, true, false or null.
func (d *decoder) literal() []byte {
	from := d.i
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return d.s[from:d.i]
		}
		d.i++
	}
	return d.s[from:]
}

// skip consumes any value and returns its text, a part of the document.
func (d *decoder) skip() []byte {
	first := d.peek()
	from := d.i
	switch first {
	case '"':
		d.quoted()
	case '{', '[':
		d.skipNested()
	default:
		d.literal()
	}
	return d.s[from:d.i]
}

func (d *decoder) skipNested() {
	for depth := 0; ; {
		switch d.s[d.i] {
		case '"':
			d.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		d.i++
		if depth == 0 {
			return
		}
	}
}

// unescape appends the text of a string's inside. A half of a surrogate pair
// becomes U+FFFD, as no Go string can hold it.
func unescape(dst, text []byte) []byte {
	for {
		slash := bytes.IndexByte(text, '\\')
		if slash < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:slash]...)
		b := text[slash+1]
		text = text[slash+2:]
		switch b {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(text)
			text = text[4:]
			if utf16.IsSurrogate(r) {
				low := utf8.RuneError
				if len(text) >= 6 && text[0] == '\\' && text[1] == 'u' {
					low = hex4(text[2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					text = text[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default: // the quote, the slash and the backslash stand for themselves
			dst = append(dst, b)
		}
	}
}

func hex4(s []byte) rune {
	return rune(unhex(s[0])<<12 | unhex(s[1])<<8 | unhex(s[2])<<4 | unhex(s[3]))
}

// unhex returns the value of a hexadecimal digit, or -1.
func unhex(b byte) int {
	switch {
	case b-'0' <= 9:
		return int(b - '0')
	case b-'a' <= 5:
		return int(b-'a') + 10
	case b-'A' <= 5:
		return int(b-'A') + 10
	}
	return -1
}

// got names the kind of the next value, for error texts.
func (d *decoder) got() string {
	switch d.peek() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// expected is the fault of a value of another kind than its field wants.
func (d *decoder) expected(want string) *fault {
	return &fault{text: fmt.Sprintf("expected %s, got %s", want, d.got())}
}
