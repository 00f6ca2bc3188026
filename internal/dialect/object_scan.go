package dialect

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// The readers of older documents look at one level at a time. A document is
// checked once, as a whole; what follows takes valid JSON apart without
// looking at it again, which with a large file inside would cost more than
// anything else. What is taken is part of the document, not a copy.

// objectMember is one of an object. A name without escapes is a part of the document.
type objectMember struct {
	name []byte
	raw  json.RawMessage
}

// members are those of an object as they stand there. There are few, so looking
// through them costs less than a map.
type members []objectMember

// get returns a member; of equal names the last counts.
func (m members) get(name string) json.RawMessage {
	for i := len(m) - 1; i >= 0; i-- {
		if string(m[i].name) == name {
			return m[i].raw
		}
	}
	return nil
}

// getSnake is get for a name that is given in camelCase, as it is in snake_case.
func (m members) getSnake(camel string) json.RawMessage {
	for i := len(m) - 1; i >= 0; i-- {
		if isSnake(m[i].name, camel) {
			return m[i].raw
		}
	}
	return nil
}

// isSnake reports whether a name is snakeCase(camel).
func isSnake(name []byte, camel string) bool {
	at := 0
	for i := range len(camel) {
		c := camel[i]
		if c >= 'A' && c <= 'Z' {
			if at == len(name) || name[at] != '_' {
				return false
			}
			at++
			c += 'a' - 'A'
		}
		if at == len(name) || name[at] != c {
			return false
		}
		at++
	}
	return at == len(name)
}

// unique returns the members by their names.
func (m members) unique() map[string]json.RawMessage {
	all := make(map[string]json.RawMessage, len(m))
	for _, in := range m {
		all[string(in.name)] = in.raw
	}
	return all
}

// scanMembers appends the members of an object.
func scanMembers(m members, doc []byte) members {
	for i := scanSpace(doc, scanSpace(doc, 0)+1); doc[i] != '}'; {
		if doc[i] == ',' {
			i = scanSpace(doc, i+1)
		}
		end := scanString(doc, i)
		name := doc[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 || !utf8.Valid(name) {
			s, _ := unquote(doc[i:end])
			name = []byte(s)
		}
		i = scanSpace(doc, scanSpace(doc, end)+1) // behind the colon
		end = scanValue(doc, i)
		m = append(m, objectMember{name, doc[i:end:end]})
		i = scanSpace(doc, end)
	}
	return m
}

// scanElements returns the elements of an array.
func scanElements(doc []byte) (list []json.RawMessage) {
	for i := scanSpace(doc, scanSpace(doc, 0)+1); doc[i] != ']'; {
		if doc[i] == ',' {
			i = scanSpace(doc, i+1)
		}
		end := scanValue(doc, i)
		list = append(list, doc[i:end:end])
		i = scanSpace(doc, end)
	}
	return list
}

// scanSpace returns where the white space at i ends, and so on for the others.
func scanSpace(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i
}

func scanString(doc []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(doc[i:], '"')
		escapes := 0
		for doc[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

func scanValue(doc []byte, i int) int {
	switch doc[i] {
	case '"':
		return scanString(doc, i)
	case '{', '[':
		for depth := 0; ; {
			switch doc[i] {
			case '"':
				i = scanString(doc, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if i++; depth == 0 {
				return i
			}
		}
	}
	for i < len(doc) && doc[i] != ',' && doc[i] != '}' && doc[i] != ']' && scanSpace(doc, i) == i {
		i++
	}
	return i
}

// unquote returns what a JSON string says; false for another value.
func unquote(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if in := raw[1 : len(raw)-1]; bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return string(in), true
	}
	ok = json.Unmarshal(raw, &s) == nil
	return s, ok
}
