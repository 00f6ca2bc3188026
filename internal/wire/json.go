package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/jsonscan"
)

// members yields the members of a JSON object in their order. obj must be
// valid JSON and an object; values are slices of it, without blanks around.
// The names are compared as they are, so the walk is done here:
// encoding/json would match them without regard to case.
func members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		b := skipBlank(skipBlank(obj)[1:])
		for len(b) > 0 && b[0] == '"' {
			n := valueLen(b)
			name := textOf(b[:n])
			b = skipBlank(skipBlank(b[n:])[1:]) // the colon
			n = valueLen(b)
			if !yield(name, b[:n:n]) {
				return
			}
			b = skipBlank(b[n:])
			if len(b) > 0 && b[0] == ',' {
				b = skipBlank(b[1:])
			}
		}
	}
}

// valueLen returns the length of the valid JSON value that b begins with.
func valueLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i += stringLen(b[i:]) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // a number or literal that ends an object
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

// stringLen is valueLen for a string. It goes from quote to quote, for most of a
// large document is in few strings.
func stringLen(b []byte) int {
	for i := 1; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

func skipBlank(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// unquote returns the text of a JSON string, or "" for another value.
func unquote(value []byte) string { return string(textOf(value)) }

// textOf is unquote for a look: the text is a part of value if it can be.
func textOf(value []byte) []byte {
	if value[0] != '"' {
		return nil
	}
	plain := value[1 : len(value)-1]
	if bytes.IndexByte(plain, '\\') < 0 {
		return plain
	}
	var s string
	_ = json.Unmarshal(value, &s) // value is known to be valid
	return []byte(s)
}

// number returns an integer value, also where a peer sends it as 1.0 or "1".
func number(value []byte) int {
	s := string(value)
	if value[0] == '"' {
		s = unquote(value)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0
	}
	return int(f)
}

func isNull(value []byte) bool { return len(value) > 0 && value[0] == 'n' }

// kindOf names the kind of a JSON value, for messages.
func kindOf(value []byte) string {
	switch value[0] {
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

// appendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	i := jsonscan.Plain(s)
	for dst = append(dst, s[:i]...); i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
