package a2a

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

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
