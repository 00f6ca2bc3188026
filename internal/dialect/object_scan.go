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

// scanMembers returns the members of an object. Of equal names the last counts.
func scanMembers(doc []byte) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage, 8)
	for i := scanSpace(doc, scanSpace(doc, 0)+1); doc[i] != '}'; {
		if doc[i] == ',' {
			i = scanSpace(doc, i+1)
		}
		end := scanString(doc, i)
		name, _ := unquote(doc[i:end])
		i = scanSpace(doc, scanSpace(doc, end)+1) // behind the colon
		end = scanValue(doc, i)
		m[name] = doc[i:end:end]
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
