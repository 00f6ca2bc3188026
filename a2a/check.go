package a2a

import (
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/jsonscan"
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
	if jsonscan.Valid(doc, maxDepth) {
		return nil
	}
	return explain(doc, maxDepth)
}

// explain is check for a document that something is wrong with, or may be.
func explain(doc []byte, maxDepth int) *Error {
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

// publishedDepth bounds the nesting of a value that an agent puts into a task: beyond
// it clients fail to read not the value but the whole answer. Protocol buffers are
// read up to 10,000 levels, of which a level of JSON takes three.
const publishedDepth = 1000

// valid reports whether v is one JSON value that clients of every binding can read.
func valid(v JSON) bool { return check(v, publishedDepth) == nil }

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
