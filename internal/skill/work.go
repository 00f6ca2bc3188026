package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	jsons "github.com/parley-a2a/parley/internal/json"
)

// A recursive schema that uses itself twice for one value, as {"properties": {"x":
// {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}} does, doubles the work with each level of the
// arguments, and anybody may send fifty levels. So a check counts its work first.
const (
	freeSteps   = 1 << 16 // of any check; each byte of the arguments allows for one more
	stepBytes   = 256     // printed or compared in the time that a step takes, some microseconds
	maxPatterns = 1 << 15 // the size of all patterns of a schema; a{1000} is short and large
)

// check is one look at the arguments of a call.
type check struct {
	*schema
	left int // steps that it may still take
}

func (k *schema) check(arguments json.RawMessage) *check {
	return &check{k, freeSteps + len(arguments)}
}

// affords counts the steps that judging a value by these schemas takes at most, and reports
// whether the check may take as many. Those that are nil take none.
func (c *check) affords(doc json.RawMessage, by ...*jsonschema.Schema) bool {
	for _, s := range by {
		if s != nil && !c.affordsOne(doc, s) {
			return false
		}
	}
	return true
}

func (c *check) affordsOne(doc json.RawMessage, s *jsonschema.Schema) bool {
	size := len(doc)*(1+c.patterns[s]) + 16*(len(s.Required)+len(s.Properties))
	if s.Enum != nil || s.Const != nil {
		values, _ := json.Marshal([]any{s.Enum, s.Const}) // they came out of JSON
		size += len(values)
	}
	c.left -= 1 + size/stepBytes
	if c.left < 0 || !c.affords(doc, append(inPlace(s), target(c.root, s.Ref))...) {
		return false
	}
	members, elements := inside(doc)
	for name, value := range members {
		in := slices.AppendSeq([]*jsonschema.Schema{s.Properties[name], s.UnevaluatedProperties}, maps.Values(s.PatternProperties))
		if in[0] == nil {
			in[0] = s.AdditionalProperties
		}
		if !c.affords(value, in...) || s.PropertyNames != nil && !c.affords(jsons.AppendString(nil, name), s.PropertyNames) {
			return false
		}
	}
	for i, value := range elements {
		in := []*jsonschema.Schema{s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems}
		if first := slices.Concat(s.PrefixItems, s.ItemsArray); i < len(first) {
			in[0] = first[i]
		}
		if !c.affords(value, in...) {
			return false
		}
	}
	return true
}

// inside returns the members of an object, or the elements of an array. Nothing is copied:
// a schema may look at the same bytes on each level.
func inside(doc json.RawMessage) (members map[string]json.RawMessage, elements []json.RawMessage) {
	r := jsons.Read(doc)
	switch r.Peek() {
	case '{':
		members = map[string]json.RawMessage{}
		for r.Enter(); r.More(); {
			name := string(r.Name())
			members[name] = r.Skip()
		}
	case '[':
		for r.Enter(); r.More(); {
			elements = append(elements, r.Skip())
		}
	}
	return members, elements
}

// measure finds out how much work there is in the schema.
func (k *schema) measure() error {
	all, total := everywhere(k.root), 0
	k.size, k.patterns = len(all), map[*jsonschema.Schema]int{}
	for _, s := range all {
		for _, pattern := range slices.AppendSeq([]string{s.Pattern}, maps.Keys(s.PatternProperties)) {
			if pattern == "" {
				continue
			}
			re, err := syntax.Parse(pattern, syntax.Perl)
			if err != nil {
				return fmt.Errorf("cannot be used: %w", err)
			}
			k.patterns[s] += sizeOf(re)
		}
		total += k.patterns[s]
	}
	if total > maxPatterns {
		return errors.New("cannot be used: its patterns are too large")
	}
	return nil
}

// sizeOf is about how many instructions a pattern has.
func sizeOf(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += sizeOf(sub)
	}
	return n * max(1, re.Min, re.Max) // of a repetition
}
