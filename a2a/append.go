package a2a

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/jsonscan"
)

// The functions below append members of an object that has been opened with a
// brace. The first argument is always the buffer so far, the second the name.

// key begins a member.
func key(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// text appends a REQUIRED string.
func text(b []byte, name, s string) []byte { return appendString(key(b, name), s) }

// optText appends a string unless it is empty, and so on for the other kinds.
func optText(b []byte, name, s string) []byte {
	if s == "" {
		return b
	}
	return text(b, name, s)
}

func texts(b []byte, name string, list []string) []byte {
	b = append(key(b, name), '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

func optTexts(b []byte, name string, list []string) []byte {
	if len(list) == 0 {
		return b
	}
	return texts(b, name, list)
}

func textMap(b []byte, name string, m map[string]string) []byte {
	b = append(key(b, name), '{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = mapKey(b, k)
		b = appendString(b, m[k])
	}
	return append(b, '}')
}

// mapKey is key for a name that may need escapes.
func mapKey(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendString(b, name), ':')
}

func optRaw(b []byte, name string, v JSON) []byte {
	if len(v) == 0 {
		return b
	}
	return append(key(b, name), v...)
}

func optBool(b []byte, name string, v bool) []byte {
	if !v {
		return b
	}
	return append(key(b, name), "true"...)
}

func optBoolPointer(b []byte, name string, v *bool) []byte {
	if v == nil {
		return b
	}
	return strconv.AppendBool(key(b, name), *v)
}

func integer(b []byte, name string, v int32) []byte {
	return strconv.AppendInt(key(b, name), int64(v), 10)
}

func optInteger(b []byte, name string, v int32) []byte {
	if v == 0 {
		return b
	}
	return integer(b, name, v)
}

func optIntegerPointer(b []byte, name string, v *int32) []byte {
	if v == nil {
		return b
	}
	return integer(b, name, *v)
}

// optInt64 writes a string, as ProtoJSON does: readers that take numbers for
// float64 would lose digits.
func optInt64(b []byte, name string, v int64) []byte {
	if v == 0 {
		return b
	}
	return optInt64Pointer(b, name, &v)
}

func optInt64Pointer(b []byte, name string, v *int64) []byte {
	if v == nil {
		return b
	}
	b = append(key(b, name), '"')
	return append(strconv.AppendInt(b, *v, 10), '"')
}

func optTime(b []byte, name string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	return appendTime(key(b, name), t)
}

// appender is a pointer to a type of the protocol.
type appender[T any] interface {
	*T
	AppendJSON([]byte) []byte
}

func optObject[T any, P appender[T]](b []byte, name string, p P) []byte {
	if p == nil {
		return b
	}
	return p.AppendJSON(key(b, name))
}

func objects[T any, P appender[T]](b []byte, name string, list []P) []byte {
	b = append(key(b, name), '[')
	for i, p := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if p == nil {
			p = P(new(T)) // a mistake of the program's; the document stays readable
		}
		b = p.AppendJSON(b)
	}
	return append(b, ']')
}

func optObjects[T any, P appender[T]](b []byte, name string, list []P) []byte {
	if len(list) == 0 {
		return b
	}
	return objects(b, name, list)
}

// appendString appends a JSON string. Only what JSON demands is escaped; bytes
// that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	i := jsonscan.Plain(s)
	b = append(b, s[:i]...)
	for i < len(s) {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				n := jsonscan.Plain(s[i:])
				b = append(b, s[i:i+n]...)
				i += n
				continue
			}
			b = appendEscape(b, c)
			i++
			continue
		}
		from := i
		r, n := rune(0), 0
		for i < len(s) && s[i] >= utf8.RuneSelf {
			if r, n = utf8.DecodeRuneInString(s[i:]); r == utf8.RuneError && n == 1 {
				break
			}
			i += n
		}
		b = append(b, s[from:i]...)
		if r == utf8.RuneError && n == 1 {
			b = utf8.AppendRune(b, r)
			i++
		}
	}
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

func appendBase64(b, raw []byte) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, raw)
	return append(b, '"')
}
