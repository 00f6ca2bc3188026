// Package jsonscan looks over JSON eight bytes at a time: whether a document is
// valid, and how much of a text can be copied into one.
//
// It says yes or nothing. What keeps a document from being valid, and where, is
// found by whoever has to say it, with a slower look that only bad documents need.
// The package has no state and nothing to be set.
package jsonscan

import (
	"encoding/binary"
	"unicode/utf8"
)

// Levels is how deep a document may nest for Valid: one bit for each level is all
// that it keeps, so that no document makes it take memory.
const Levels = 128

// Valid reports whether doc is one JSON value, in UTF-8, whose arrays and objects
// nest at most most levels deep. False may also mean that they nest more than Levels.
func Valid(doc []byte, most int) bool {
	var (
		objects [Levels / 64]uint64 // which of the levels that are open are objects
		depth   int
		high    uint64 // its top bits say whether a string is more than ASCII
		i       int
		ok      bool
	)
	most = min(most, Levels)
value:
	if i = space(doc, i); i == len(doc) {
		return false
	}
	switch doc[i] {
	case '{':
		if depth >= most {
			return false
		}
		objects[depth/64] |= 1 << (depth % 64)
		depth++
		if i = space(doc, i+1); i < len(doc) && doc[i] == '}' {
			i++
			depth--
			goto ended
		}
		goto member
	case '[':
		if depth >= most {
			return false
		}
		objects[depth/64] &^= 1 << (depth % 64)
		depth++
		if i = space(doc, i+1); i < len(doc) && doc[i] == ']' {
			i++
			depth--
			goto ended
		}
		goto value
	case '"':
		i, high, ok = text(doc, i+1, high)
	case 't':
		i, ok = word(doc, i, "true")
	case 'f':
		i, ok = word(doc, i, "false")
	case 'n':
		i, ok = word(doc, i, "null")
	default:
		i, ok = number(doc, i)
	}
	if !ok {
		return false
	}
ended:
	if i = space(doc, i); depth == 0 {
		return i == len(doc) && (high&tops == 0 || utf8.Valid(doc))
	}
	if i == len(doc) {
		return false
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
		return false
	}
	switch doc[i] {
	case ',':
		i = space(doc, i+1)
		goto member
	case '}':
		i++
		depth--
		goto ended
	}
	return false
member:
	if i == len(doc) || doc[i] != '"' {
		return false
	}
	if i, high, ok = text(doc, i+1, high); !ok {
		return false
	}
	if i = space(doc, i); i == len(doc) || doc[i] != ':' {
		return false
	}
	i++
	goto value
}

// space returns where the white space at i ends, and so on for the others, which
// also say whether there was what they looked for.
func space(doc []byte, i int) int {
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

// special marks, by their top bits, the bytes of w that cannot stand in a string
// for themselves: quotes, backslashes and control characters. Only the lowest mark
// is certain, since a byte that is marked borrows from the next one.
func special(w uint64) uint64 {
	return ((w - ' '*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) &^ w & tops
}

// text is for a string behind its first quote.
func text(doc []byte, i int, high uint64) (int, uint64, bool) {
	for {
		for len(doc)-i >= 8 {
			w := binary.LittleEndian.Uint64(doc[i:])
			high |= w // also what is behind the string; then we look once too often
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
			n := escape(doc[i+1:])
			if n == 0 {
				return i, high, false
			}
			i += 1 + n
		default:
			return i, high, false
		}
	}
}

// escape returns how long an escape is, without its backslash; 0 for what is none.
func escape(s []byte) int {
	if len(s) == 0 {
		return 0
	}
	switch s[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(s) >= 5 && hex(s[1]) && hex(s[2]) && hex(s[3]) && hex(s[4]) {
			return 5
		}
	}
	return 0
}

func hex(b byte) bool { return b-'0' <= 9 || (b|0x20)-'a' <= 5 }

func word(doc []byte, i int, w string) (int, bool) {
	end := i + len(w)
	return end, end <= len(doc) && string(doc[i:end]) == w
}

func number(doc []byte, i int) (int, bool) {
	if doc[i] == '-' {
		i++
	}
	from := i
	if i = digits(doc, i); i == from || doc[from] == '0' && i > from+1 {
		return i, false
	}
	if i < len(doc) && doc[i] == '.' {
		from = i + 1
		if i = digits(doc, from); i == from {
			return i, false
		}
	}
	if i < len(doc) && doc[i]|0x20 == 'e' {
		if i++; i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		from = i
		if i = digits(doc, from); i == from {
			return i, false
		}
	}
	return i, true
}

func digits(doc []byte, i int) int {
	for i < len(doc) && doc[i]-'0' <= 9 {
		i++
	}
	return i
}
