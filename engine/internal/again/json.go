package again

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/internal/json"
)

// JSON is summed up while it is read. As a tree, a document of small values takes fifty times
// its size, and every caller may send one with each request.

func (s *summary) json(j a2a.JSON) {
	if len(j) == 0 {
		j = a2a.JSON("null")
	}
	if flaw, _ := json.Check(j, json.Deepest); flaw != json.Sound && flaw != json.Encoding { // cannot have come over a wire
		s.tag('?')
		s.bytes(j)
		return
	}
	s.value(json.Read(j))
}

func (s *summary) tag(t byte) {
	s.buf[8] = t
	s.h.Write(s.buf[8:])
}

// value sums up the next value.
func (s *summary) value(r *json.Reader) {
	switch c := r.Peek(); c {
	case '{':
		s.members(r)
	case '[':
		s.tag('a')
		for r.Enter(); r.More(); {
			s.value(r)
		}
		s.tag('e')
	case 'n':
		r.Skip()
		s.tag('0')
	case 't', 'f':
		r.Skip()
		s.tag(c)
	case '"':
		text, _ := json.Unquote(r.Skip())
		s.tag('s')
		s.text(text)
	default:
		// A number beyond the range of float64 counts as the largest in it, as in a
		// google.protobuf.Value. JSON made by browsers has no -0.
		f, _ := strconv.ParseFloat(string(r.Skip()), 64)
		f = max(-math.MaxFloat64, min(math.MaxFloat64, f))
		if f == 0 {
			f = 0
		}
		s.tag('n')
		s.number(math.Float64bits(f))
	}
}

// member is a member of an object.
type member struct {
	name  string
	value []byte
}

// members sums up an object in the order of its names; of duplicates the last one counts.
func (s *summary) members(r *json.Reader) {
	var all []member
	for r.Enter(); r.More(); {
		all = append(all, member{string(r.Name()), r.Skip()})
	}
	slices.SortStableFunc(all, func(a, b member) int { return strings.Compare(a.name, b.name) })
	s.tag('o')
	for i, m := range all {
		if i+1 < len(all) && all[i+1].name == m.name {
			continue
		}
		s.tag('s')
		s.text(m.name)
		s.value(json.Read(m.value))
	}
	s.tag('e')
}
