package json

import (
	"encoding/base64"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// shortEscapes are the control characters that have an escape of one letter, and
// shortLetters these letters.
const (
	shortEscapes = "\b\f\n\r\t"
	shortLetters = "bfnrt"
)

// AppendString appends a string with as few escapes as JSON allows. What is not
// UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte { return AppendStringAs(b, s, shortEscapes) }

// AppendStringAs is AppendString for formats that use only some of the short
// escapes, such as \n: those for the control characters in short.
func AppendStringAs(b []byte, s, short string) []byte {
	n := Plain(s)
	if n == len(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	b = append(b, '"')
	for ; ; n = Plain(s) {
		b = append(b, s[:n]...)
		if s = s[n:]; s == "" {
			return append(b, '"')
		}
		if s[0] < utf8.RuneSelf {
			b = appendEscape(b, s[0], short)
			s = s[1:]
			continue
		}
		for n = 0; n < len(s) && s[n] >= utf8.RuneSelf; {
			r, size := utf8.DecodeRuneInString(s[n:])
			if r == utf8.RuneError && size == 1 {
				b = utf8.AppendRune(append(b, s[:n]...), r)
				s, n = s[n+1:], 0
				continue
			}
			n += size
		}
		b = append(b, s[:n]...)
		s = s[n:]
	}
}

func appendEscape(b []byte, c byte, short string) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(b, '\\', c)
	case strings.IndexByte(short, c) >= 0:
		return append(b, '\\', shortLetters[strings.IndexByte(shortEscapes, c)])
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// AppendBase64 appends bytes as a string in base64.
func AppendBase64(b, raw []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(b, '"'), raw), '"')
}

// AppendKey begins a member of the object that b ends in. name needs no escapes.
func AppendKey(b []byte, name string) []byte {
	b = append(AppendComma(b), '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// AppendName is AppendKey for a name that may need escapes.
func AppendName(b []byte, name string) []byte { return append(AppendString(AppendComma(b), name), ':') }

// AppendComma appends a comma where something stands before in the object or
// array that b ends in.
func AppendComma(b []byte) []byte {
	switch b[len(b)-1] {
	case '{', '[', ':':
		return b
	}
	return append(b, ',')
}

// lowest returns the index of the byte that the lowest mark is for.
func lowest(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }

// Plain returns how long the part is that s begins with and that a JSON string
// has as it is: ASCII without quotes, backslashes and control characters.
func Plain(s string) int {
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		w := load(s[i : i+8])
		if m := special(w) | w&tops; m != 0 {
			return i + lowest(m)
		}
	}
	for ; i < len(s); i++ {
		if b := s[i]; b < ' ' || b >= 0x80 || b == '"' || b == '\\' {
			break
		}
	}
	return i
}

// load is what binary.LittleEndian.Uint64 is for bytes; the compiler makes one
// instruction of it, where there is one.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
