// Package json is the module's reader and writer of JSON: Check validates a document
// eight bytes at a time, a Reader takes apart a document that has passed, and the
// functions whose names begin with Append write.
//
// A document is checked once, as a whole, and trusted from then on, so that its readers
// need not look for mistakes again. Nothing here keeps state between calls, and a
// Reader belongs to one goroutine.
package json

import (
	"encoding/binary"
	"unicode/utf8"
)

// Deepest is how many levels encoding/json reads, and the bound if there is no other.
const Deepest = 10000

// A Flaw is the reason why a document is not valid.
type Flaw uint8

const (
	// Sound means that the document is valid.
	Sound Flaw = iota
	// Short means that the document ends too early.
	Short
	// Unexpected means that a byte is not allowed at its place.
	Unexpected
	// Deep means that arrays and objects nest too deeply.
	Deep
	// Encoding means that the document is JSON except for bytes that are not UTF-8.
	Encoding
)

// Valid reports whether doc is one JSON value, in UTF-8, whose arrays and objects
// nest at most most levels deep.
func Valid(doc []byte, most int) bool {
	flaw, _ := Check(doc, most)
	return flaw == Sound
}

// Deeper reports whether the arrays and objects of doc nest more than most levels deep.
// Bytes after a flaw do not count.
func Deeper(doc []byte, most int) bool {
	if len(doc) <= most { // each level takes a byte
		return false
	}
	flaw, _ := Check(doc, most)
	return flaw == Deep
}

// Check returns the first flaw of doc and the byte where it is; encoding is checked
// last. It keeps only one bit for each level.
func Check(doc []byte, most int) (flaw Flaw, at int) {
	var (
		levels  [2]uint64   // enough for 128 levels without memory
		objects = levels[:] // which of the open levels are objects
		depth   int
		high    uint64 // its top bits say whether a string is more than ASCII
		i       int
		ok      bool
	)
value:
	if i = spaceEnd(doc, i); i == len(doc) {
		return Short, i
	}
	switch doc[i] {
	case '{':
		if depth >= most {
			return Deep, i
		}
		if depth/64 == len(objects) {
			objects = append(objects, 0)
		}
		objects[depth/64] |= 1 << (depth % 64)
		depth++
		if i = spaceEnd(doc, i+1); i < len(doc) && doc[i] == '}' {
			i++
			depth--
			goto ended
		}
		goto member
	case '[':
		if depth >= most {
			return Deep, i
		}
		if depth/64 == len(objects) {
			objects = append(objects, 0)
		}
		objects[depth/64] &^= 1 << (depth % 64)
		depth++
		if i = spaceEnd(doc, i+1); i < len(doc) && doc[i] == ']' {
			i++
			depth--
			goto ended
		}
		goto value
	case '"':
		i, high, ok = stringEnd(doc, i+1, high)
	case 't':
		i, ok = wordEnd(doc, i, "true")
	case 'f':
		i, ok = wordEnd(doc, i, "false")
	case 'n':
		i, ok = wordEnd(doc, i, "null")
	default:
		i, ok = numberEnd(doc, i)
	}
	if !ok {
		goto broken
	}
ended:
	if i = spaceEnd(doc, i); depth == 0 {
		switch {
		case i < len(doc):
			return Unexpected, i
		case high&tops != 0 && !utf8.Valid(doc):
			return Encoding, i
		}
		return Sound, i
	}
	if i == len(doc) {
		return Short, i
	}
	if objects[(depth-1)/64]>>((depth-1)%64)&1 == 0 {
		switch doc[i] {
		case ',':
			i++
			goto value
		case ']':
			i++
			depth--
			goto ended
		}
		return Unexpected, i
	}
	switch doc[i] {
	case ',':
		i = spaceEnd(doc, i+1)
		goto member
	case '}':
		i++
		depth--
		goto ended
	}
	return Unexpected, i
member:
	if i == len(doc) || doc[i] != '"' {
		goto broken
	}
	if i, high, ok = stringEnd(doc, i+1, high); !ok {
		goto broken
	}
	if i = spaceEnd(doc, i); i == len(doc) || doc[i] != ':' {
		goto broken
	}
	i++
	goto value
broken:
	if i == len(doc) {
		return Short, i
	}
	return Unexpected, i
}

// spaceEnd returns where the white space at i ends. The functions below return where a
// piece of syntax ends or, with false, the first byte that does not belong to it.
func spaceEnd(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

// A byte in each of eight.
const (
	ones = 0x0101010101010101
	tops = 0x80 * ones
)

// special marks, by their top bits, the bytes of w that must be escaped in a string:
// quotes, backslashes and control characters. Only the lowest mark is certain, since a
// marked byte borrows from the next one. The exclusive or with 2 maps the quote to
// 0x20, next to the control characters.
func special(w uint64) uint64 {
	return (((w ^ 2*ones) - 0x21*ones) | ((w ^ '\\'*ones) - ones)) &^ w & tops
}

// stringEnd continues a string after its first quote.
func stringEnd(doc []byte, i int, high uint64) (int, uint64, bool) {
	for {
		for len(doc)-i >= 8 {
			w := binary.LittleEndian.Uint64(doc[i:])
			high |= w // also bytes after the string: at worst, one check too many
			if m := special(w); m != 0 {
				i += lowest(m)
				goto found
			}
			i += 8
		}
		for ; i < len(doc); i++ {
			b := doc[i]
			if b == '"' || b == '\\' || b < ' ' {
				goto found
			}
			high |= uint64(b)
		}
		return i, high, false
	found:
		switch doc[i] {
		case '"':
			return i + 1, high, true
		case '\\':
			var ok bool
			if i, ok = escapeEnd(doc, i+1); !ok {
				return i, high, false
			}
		default:
			return i, high, false
		}
	}
}

// escapeEnd continues an escape after its backslash.
func escapeEnd(doc []byte, i int) (int, bool) {
	if i == len(doc) {
		return i, false
	}
	switch doc[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, true
	case 'u':
		for end := i + 4; i < end; {
			if i++; i == len(doc) || !isHex(doc[i]) {
				return i, false
			}
		}
		return i + 1, true
	}
	return i, false
}

func isHex(b byte) bool { return b-'0' <= 9 || (b|0x20)-'a' <= 5 }

func wordEnd(doc []byte, i int, w string) (int, bool) {
	if end := i + len(w); end <= len(doc) && string(doc[i:end]) == w {
		return end, true
	}
	for k := 0; i < len(doc) && doc[i] == w[k]; k++ {
		i++
	}
	return i, false
}

// IsNumber reports whether text is a number and nothing else.
func IsNumber(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	end, ok := numberEnd(text, 0)
	return ok && end == len(text)
}

func numberEnd(doc []byte, i int) (int, bool) {
	if doc[i] == '-' {
		i++
	}
	from := i
	if i < len(doc) && doc[i] == '0' {
		i++
	} else if i = digitsEnd(doc, i); i == from {
		return i, false
	}
	if i < len(doc) && doc[i] == '.' {
		from = i + 1
		if i = digitsEnd(doc, from); i == from {
			return i, false
		}
	}
	if i < len(doc) && doc[i]|0x20 == 'e' {
		if i++; i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		from = i
		if i = digitsEnd(doc, from); i == from {
			return i, false
		}
	}
	return i, true
}

func digitsEnd(doc []byte, i int) int {
	for i < len(doc) && doc[i]-'0' <= 9 {
		i++
	}
	return i
}
