package acts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A trail is a path to values within a value: task.artifacts[0].parts[*].text.
type trail []segment

type segment struct {
	name  string // of a member; "" for an element
	index int    // of an element
	every bool   // each element
}

var errPath = errors.New("is not a path such as task.artifacts[0].parts[*].text")

func parsePath(s string) (trail, error) {
	var p trail
	for part := range strings.SplitSeq(s, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name == "" && (rest == "" || len(p) > 0) {
			return nil, fmt.Errorf("%q %w", s, errPath)
		}
		if name != "" {
			p = append(p, segment{name: name})
		}
		for rest != "" {
			index, more, ok := strings.Cut(rest, "]")
			seg := segment{every: index == "*"}
			if !seg.every {
				i, err := strconv.Atoi(index)
				if err != nil || i < 0 {
					return nil, fmt.Errorf("%q %w", s, errPath)
				}
				seg.index = i
			}
			if !ok || more != "" && more[0] != '[' {
				return nil, fmt.Errorf("%q %w", s, errPath)
			}
			p = append(p, seg)
			rest = strings.TrimPrefix(more, "[")
		}
	}
	return p, nil
}

// find returns the values at a path. There can be several only if it contains [*].
func (p trail) find(v any) []any {
	at := []any{v}
	for _, seg := range p {
		var next []any
		for _, v := range at {
			switch v := v.(type) {
			case map[string]any:
				if m, ok := v[seg.name]; ok && seg.name != "" {
					next = append(next, m)
				}
			case []any:
				switch {
				case seg.name != "":
				case seg.every:
					next = append(next, v...)
				case seg.index < len(v):
					next = append(next, v[seg.index])
				}
			}
		}
		at = next
	}
	return at
}

// lookup returns the single value at a path.
func lookup(v any, text string) (any, bool) {
	p, err := parsePath(text)
	if err != nil {
		return nil, false
	}
	found := p.find(v)
	if len(found) == 0 {
		return nil, false
	}
	return found[0], true
}

// until is a condition of ACTS §9.1.
type until struct {
	path   trail
	not    bool
	values []string
}

func parseUntil(s string) (*until, error) {
	u := &until{}
	left, right, ok := strings.Cut(s, " in ")
	switch {
	case ok:
		list, closed := strings.CutSuffix(strings.TrimSpace(right), "]")
		list, opened := strings.CutPrefix(list, "[")
		if !closed || !opened {
			return nil, fmt.Errorf("%q: behind in there must be [a, b]", s)
		}
		for v := range strings.SplitSeq(list, ",") {
			u.values = append(u.values, literal(v))
		}
	default:
		if left, right, ok = strings.Cut(s, "=="); !ok {
			if left, right, ok = strings.Cut(s, "!="); !ok {
				return nil, fmt.Errorf("%q has none of ==, != and in", s)
			}
			u.not = true
		}
		u.values = []string{literal(right)}
	}
	p, err := parsePath(strings.TrimSpace(left))
	u.path = p
	return u, err
}

func literal(s string) string { return strings.Trim(strings.TrimSpace(s), `"'`) }

func (u *until) holds(v any) bool {
	for _, found := range u.path.find(v) {
		for _, want := range u.values {
			if plainText(found) == want {
				return !u.not
			}
		}
	}
	return u.not
}

// plainText formats a scalar for use within a text.
func plainText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case nil:
		return "null"
	}
	return compact(v)
}
