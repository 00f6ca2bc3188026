package engine

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/parley-a2a/parley/a2a"
)

// JSON is summed up as it is read. A document of small things takes fifty times
// its size as a tree, and every caller may send one with each request.

func (s *summary) json(j a2a.JSON) {
	if len(j) == 0 {
		j = a2a.JSON("null")
	}
	if !json.Valid(j) { // nothing that came over a wire
		s.tag('?')
		s.bytes(j)
		return
	}
	s.value(j)
}

func (s *summary) tag(t byte) {
	s.buf[8] = t
	s.h.Write(s.buf[8:])
}

// value sums up the value that j begins with, and returns what is behind it.
func (s *summary) value(j []byte) (rest []byte) {
	j = blank(j)
	switch c := j[0]; c {
	case '{':
		return s.members(j[1:])
	case '[':
		s.tag('a')
		for j = blank(j[1:]); j[0] != ']'; j = next(j) {
			j = s.value(j)
		}
		s.tag('e')
		return j[1:]
	case 'n':
		s.tag('0')
	case 't', 'f':
		s.tag(c)
	case '"':
		s.tag('s')
		s.text(unquoted(j[:end(j)]))
	default:
		// Beyond the range of float64 it is the largest there, as in a
		// google.protobuf.Value; JSON made by browsers has no -0.
		f, _ := strconv.ParseFloat(string(j[:end(j)]), 64)
		f = max(-math.MaxFloat64, min(math.MaxFloat64, f))
		if f == 0 {
			f = 0
		}
		s.tag('n')
		s.number(math.Float64bits(f))
	}
	return j[end(j):]
}

// member is one of an object's. Its value begins with value.
type member struct {
	name  string
	value []byte
}

// members sums up an object by the order of its names; of those that are there
// twice the last counts.
func (s *summary) members(j []byte) (rest []byte) {
	var all []member
	for j = blank(j); j[0] != '}'; j = next(j) {
		n := end(j)
		m := member{name: unquoted(j[:n])}
		m.value = blank(blank(j[n:])[1:])
		j = m.value[end(m.value):]
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	s.tag('o')
	for i, m := range all {
		if i+1 < len(all) && all[i+1].name == m.name {
			continue
		}
		s.tag('s')
		s.text(m.name)
		s.value(m.value)
	}
	s.tag('e')
	return j[1:]
}

// next is what is behind an element: the next one, or the end.
func next(j []byte) []byte {
	if j = blank(j); j[0] == ',' {
		return blank(j[1:])
	}
	return j
}

func blank(j []byte) []byte { return bytes.TrimLeft(j, " \t\r\n") }

// end is the length of the value that j begins with.
func end(j []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch j[i] {
		case '"':
			for i++; j[i] != '"'; i++ {
				if j[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ' ', '\t', '\r', '\n', ',', ':':
			continue // only where depth is above 0
		default:
			for i+1 < len(j) && strings.IndexByte(",]} \t\r\n", j[i+1]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// unquoted is what a string in JSON says.
func unquoted(j []byte) string {
	if bytes.IndexByte(j, '\\') < 0 && utf8.Valid(j) {
		return string(j[1 : len(j)-1])
	}
	var text string
	_ = json.Unmarshal(j, &text) // it was found to be valid
	return text
}
