package json

import (
	"encoding/base64"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// shortEscapes are the control characters that have an escape of one letter, and
// shortLetters are the letters.
const (
	shortEscapes = "\b\f\n\r\t"
	shortLetters = "bfnrt"
)

// AppendString appends a string with as few escapes as JSON allows. Bytes that are not
// UTF-8 become U+FFFD.
func AppendString(b []byte, s string) []byte { return AppendStringAs(b, s, shortEscapes) }

// AppendStringAs is AppendString for formats that use only some of the short
// escapes, such as \n: those for the control characters in short.
func AppendStringAs(b []byte, s, short string) []byte {
	b, n := appendPlain(b, `"`, s)
	if n < len(s) {
		b = appendEscaped(b, s[n:], short)
	}
	return append(b, '"')
}

// appendPlain appends open, and s up to the first byte that is special in a JSON string
// or not ASCII. It returns how much of s that is. Most of the output is short strings,
// so they are examined and copied in one pass.
func appendPlain(b []byte, open, s string) ([]byte, int) {
	if need := len(open) + len(s) + 1; cap(b)-len(b) < need { // 1 for the quote after it
		b = slices.Grow(b, need)
	}
	b = append(b, open...)
	to := b[len(b) : len(b)+len(s)]
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		w := load(s[i : i+8])
		if foreign(w) != 0 {
			return b[:len(b)+i], i
		}
		binary.LittleEndian.PutUint64(to[i:i+8], w)
	}
	if len(s) >= 8 {
		i = len(s) - 8 // overlaps bytes that were copied
		w := load(s[i:])
		if foreign(w) != 0 {
			return b[:len(b)+i], i
		}
		binary.LittleEndian.PutUint64(to[i:], w)
		return b[:len(b)+len(s)], len(s)
	}
	for i < len(s) && plain[s[i]] {
		to[i] = s[i]
		i++
	}
	return b[:len(b)+i], i
}

// appendEscaped appends s with escapes and without quotes around it.
func appendEscaped(b []byte, s, short string) []byte {
	for {
		n := plainPrefix(s)
		b = append(b, s[:n]...)
		if s = s[n:]; s == "" {
			return b
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

// AppendComma appends a comma if the object or array that b ends in has something in
// it.
func AppendComma(b []byte) []byte {
	switch b[len(b)-1] {
	case '{', '[', ':':
		return b
	}
	return append(b, ',')
}

// lowest returns the index of the byte with the lowest mark.
func lowest(marks uint64) int { return bits.TrailingZeros64(marks) / 8 }

// plainPrefix returns the length of the prefix of s that needs no escapes and is ASCII.
func plainPrefix(s string) int {
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		w := load(s[i : i+8])
		if m := foreign(w); m != 0 {
			return i + lowest(m)
		}
	}
	for i < len(s) && plain[s[i]] {
		i++
	}
	return i
}

// plain has the ASCII bytes that a JSON string contains unescaped.
var plain = func() (is [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

// foreign marks special bytes and those that are not ASCII, as special marks them.
func foreign(w uint64) uint64 {
	return (((w ^ 2*ones) - 0x21*ones) | ((w ^ '\\'*ones) - ones) | w) & tops
}

// load is binary.LittleEndian.Uint64 for a string; the compiler makes it one
// instruction, if the machine has it.
func load(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
