package auth

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds of what is parsed.
const (
	maxDocument = 4 << 20 // bytes
	maxDepth    = 100
)

// parseJSON reads a document into nil, bool, float64, string, []any and
// map[string]any. encoding/json would do, were it not for what it lets pass:
// members that are there twice, and strings that are no Unicode.
func parseJSON(doc []byte) (any, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("the document is larger than %d bytes", maxDocument)
	}
	p := &parser{s: doc}
	v, err := p.value(0)
	if err == nil {
		if p.space(); p.i < len(p.s) {
			err = errors.New("there is more behind the document's end")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("at byte %d: %w", p.i, err)
	}
	return v, nil
}

type parser struct {
	s []byte
	i int
}

var errSyntax = errors.New("this is not JSON")

// space skips white space and returns the byte behind it, 0 at the end.
func (p *parser) space() byte {
	for ; p.i < len(p.s); p.i++ {
		switch c := p.s[p.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take consumes c if it comes next.
func (p *parser) take(c byte) bool {
	if p.space() != c || p.i == len(p.s) {
		return false
	}
	p.i++
	return true
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	switch p.space() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	return p.number()
}

func (p *parser) word(w string) error {
	if len(p.s)-p.i < len(w) || string(p.s[p.i:p.i+len(w)]) != w {
		return errSyntax
	}
	p.i += len(w)
	return nil
}

func (p *parser) object(depth int) (any, error) {
	p.i++
	m := map[string]any{}
	if p.take('}') {
		return m, nil
	}
	for {
		if p.space() != '"' {
			return nil, errSyntax
		}
		name, err := p.string()
		if err != nil {
			return nil, err
		}
		if _, twice := m[name]; twice {
			return nil, fmt.Errorf("member %.40q is there twice", name)
		}
		if !p.take(':') {
			return nil, errSyntax
		}
		if m[name], err = p.value(depth + 1); err != nil {
			return nil, err
		}
		if p.take('}') {
			return m, nil
		}
		if !p.take(',') {
			return nil, errSyntax
		}
	}
}

func (p *parser) array(depth int) (any, error) {
	p.i++
	list := []any{}
	if p.take(']') {
		return list, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if p.take(']') {
			return list, nil
		}
		if !p.take(',') {
			return nil, errSyntax
		}
	}
}

func (p *parser) string() (string, error) {
	p.i++
	var b []byte
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == '"':
			p.i++
			return string(b), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		case c < ' ':
			return "", errors.New("a string holds a control character that is not escaped")
		case c < utf8.RuneSelf:
			b = append(b, c)
			p.i++
		default:
			r, n := utf8.DecodeRune(p.s[p.i:])
			if r == utf8.RuneError && n == 1 {
				return "", errors.New("a string is not UTF-8")
			}
			b = append(b, p.s[p.i:p.i+n]...)
			p.i += n
		}
	}
	return "", errSyntax
}

// escape consumes an escape, or the two of a surrogate pair.
func (p *parser) escape() (rune, error) {
	if p.i+1 >= len(p.s) {
		return 0, errSyntax
	}
	c := p.s[p.i+1]
	p.i += 2
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
	default:
		return 0, errSyntax
	}
	r, err := p.unit()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if len(p.s)-p.i >= 2 && p.s[p.i] == '\\' && p.s[p.i+1] == 'u' {
		p.i += 2
		low, err := p.unit()
		if err != nil {
			return 0, err
		}
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, errors.New("a string holds half a surrogate pair")
}

// unit consumes the four digits of an escape.
func (p *parser) unit() (rune, error) {
	if len(p.s)-p.i < 4 {
		return 0, errSyntax
	}
	var r rune
	for _, c := range p.s[p.i : p.i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, errSyntax
		}
	}
	p.i += 4
	return r, nil
}

func (p *parser) number() (any, error) {
	from := p.i
	p.one('-')
	if !p.one('0') && !p.digits() {
		return nil, errSyntax
	}
	if p.one('.') && !p.digits() {
		return nil, errSyntax
	}
	if p.one('e') || p.one('E') {
		if !p.one('+') {
			p.one('-')
		}
		if !p.digits() {
			return nil, errSyntax
		}
	}
	f, err := strconv.ParseFloat(string(p.s[from:p.i]), 64)
	if err != nil {
		return nil, errors.New("a number is beyond the range of an IEEE double")
	}
	return f, nil
}

func (p *parser) one(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *parser) digits() bool {
	from := p.i
	for p.i < len(p.s) && '0' <= p.s[p.i] && p.s[p.i] <= '9' {
		p.i++
	}
	return p.i > from
}
