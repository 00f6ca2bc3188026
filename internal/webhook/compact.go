package webhook

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Compact appends a JSON document as the serializers of JavaScript and Python
// write it: without white space, with only those escapes that JSON demands.
// Bodies that Keys.Bearer vouches for are sent so, because the receivers of the
// samples parse a body, write it again and hash that. Numbers and the order of
// members stay as they are. doc must be valid.
func Compact(dst, doc []byte) []byte {
	for i := 0; i < len(doc); {
		switch c := doc[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			dst, i = compactString(dst, doc, i)
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst
}

// compactString appends the string that begins at doc[i], and returns where it
// ends.
func compactString(dst, doc []byte, i int) ([]byte, int) {
	dst = append(dst, '"')
	for i++; i < len(doc); {
		switch {
		case doc[i] == '"':
			return append(dst, '"'), i + 1
		case doc[i] != '\\' || i+1 >= len(doc):
			dst = append(dst, doc[i])
			i++
		case doc[i+1] == '/':
			dst = append(dst, '/')
			i += 2
		case doc[i+1] != 'u':
			dst = append(dst, doc[i], doc[i+1])
			i += 2
		default:
			r, n := unescape(doc[i:])
			if n == 0 { // half a character
				n = min(6, len(doc)-i)
				dst = append(dst, doc[i:i+n]...)
			} else {
				dst = appendRune(dst, r)
			}
			i += n
		}
	}
	return dst, i
}

// unescape reads \uXXXX, or two of them for one character, and returns how
// long it was; 0 if it is no character.
func unescape(s []byte) (rune, int) {
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if low, ok := hex4(s[6:]); ok {
		if r := utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, 12
		}
	}
	return 0, 0
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n), err == nil
}

func appendRune(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r >= ' ':
		return utf8.AppendRune(dst, r)
	}
	for i, c := range "\b\f\n\r\t" {
		if r == c {
			return append(dst, '\\', "bfnrt"[i])
		}
	}
	return append(dst, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
}
