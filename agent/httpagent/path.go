package httpagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	jsons "github.com/parley-a2a/parley/internal/json"
)

const (
	maxPath = 1 << 10 // in bytes
	// wholeText is the answer path of a service whose whole response is the answer.
	wholeText = "text"
)

// answerPath says where the answer is in a response: at the first of its paths that
// leads to a value. docs/http.md has the grammar.
type answerPath struct {
	text  bool // the whole response, unchanged
	paths [][]step
}

// step leads from a value to one inside it.
type step struct {
	name  string // of a member; "" of an element
	index int
}

// parsePath reads an answer path. Its errors say what was expected.
func parsePath(s string) (*answerPath, error) {
	const expected = "expected a path such as .reply or .choices[0].message.content, several with | between them, or " + wholeText
	switch s = strings.TrimSpace(s); {
	case s == "":
		return nil, errors.New("must not be empty: " + expected)
	case len(s) > maxPath:
		return nil, fmt.Errorf("must have at most %d bytes, not %d", maxPath, len(s))
	case s == wholeText:
		return &answerPath{text: true}, nil
	}
	p := new(answerPath)
	for one := range strings.SplitSeq(s, "|") {
		steps, ok := parseSteps(strings.TrimSpace(one))
		if !ok {
			return nil, fmt.Errorf("%q is not a path: %s", cut(strings.TrimSpace(one)), expected)
		}
		p.paths = append(p.paths, steps)
	}
	return p, nil
}

func parseSteps(s string) (steps []step, ok bool) {
	for s != "" {
		end := strings.IndexAny(s[1:], ".[") + 1
		if end == 0 {
			end = len(s)
		}
		one := s[:end]
		s = s[end:]
		if name, isName := strings.CutPrefix(one, "."); isName {
			if name == "" || strings.Trim(name, nameChars) != "" {
				return nil, false
			}
			steps = append(steps, step{name: name})
			continue
		}
		digits, closed := strings.CutSuffix(strings.TrimPrefix(one, "["), "]")
		n, err := strconv.ParseUint(digits, 10, 16)
		if one[0] != '[' || !closed || err != nil {
			return nil, false
		}
		steps = append(steps, step{index: int(n)})
	}
	return steps, len(steps) > 0
}

const nameChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$"

// CheckAnswer reports what is wrong with Options.Answer; nil if nothing is.
func CheckAnswer(s string) error {
	_, err := parsePath(s)
	return err
}

// find returns the answer in a JSON document, or nil if there is none.
func (p *answerPath) find(doc []byte) (*a2a.Part, error) {
	if p.text {
		return textPart(string(doc)), nil
	}
	if jsons.Deeper(doc, a2a.MaxDepth) {
		return nil, bad("it nests more than %d levels deep", a2a.MaxDepth)
	}
	if !json.Valid(doc) {
		return nil, bad("it is not JSON")
	}
	for _, steps := range p.paths {
		if at := follow(doc, steps); at != nil {
			return partOf(at), nil
		}
	}
	return nil, nil
}

// follow returns the value that steps lead to; nil if there is none, or null.
func follow(doc json.RawMessage, steps []step) json.RawMessage {
	for _, s := range steps {
		var members map[string]json.RawMessage
		var elements []json.RawMessage
		switch {
		case s.name != "" && json.Unmarshal(doc, &members) == nil:
			doc = members[s.name]
		case s.name == "" && json.Unmarshal(doc, &elements) == nil && s.index < len(elements):
			doc = elements[s.index]
		default:
			return nil
		}
	}
	if string(doc) == "null" {
		return nil
	}
	return doc
}

// partOf turns texts, numbers and booleans into a text part, and other values into a
// data part.
func partOf(value json.RawMessage) *a2a.Part {
	switch value[0] {
	case '{', '[':
		return a2a.DataPart(a2a.JSON(strings.ToValidUTF8(string(value), "\ufffd")))
	case '"':
		var s string
		_ = json.Unmarshal(value, &s) // it is valid
		return textPart(s)
	}
	return a2a.TextPart(string(value))
}

func textPart(s string) *a2a.Part { return a2a.TextPart(strings.ToValidUTF8(s, "\ufffd")) }
