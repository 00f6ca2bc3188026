package skill

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	jsons "github.com/parley-a2a/parley/internal/json"
)

// A recursive schema that uses itself twice for one value, such as {"properties": {"x":
// {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}, doubles the work with each level of the
// arguments, and any caller may send fifty levels. So a check first counts its work.
const (
	freeSteps   = 1 << 14 // for any check; each byte of the value allows one more
	stepBytes   = 256     // as many are printed or compared in the time of a step, some microseconds
	maxPatterns = 1 << 15 // the size of all patterns of a schema; a{1000} is short but large
)

// check is one check of the arguments of a call.
type check struct {
	*Schema
	left int // steps that it may still take
}

func (k *Schema) check(value []byte) *check { return &check{k, freeSteps + len(value)} }

// affords counts the steps that checking a value by these schemas takes at most, and reports
// whether the check may take as many. nil schemas take none.
func (c *check) affords(doc []byte, by ...*jsonschema.Schema) bool {
	for _, s := range by {
		if s == nil {
			continue
		}
		p := c.parts[s]
		c.left -= 1 + (len(doc)*(1+p.patterns)+p.size)/stepBytes
		if c.left < 0 || !c.affords(doc, p.inPlace...) || !c.affordsInside(doc, s) {
			return false
		}
	}
	return true
}

// affordsInside is affords for the members or elements of a value.
func (c *check) affordsInside(doc []byte, s *jsonschema.Schema) bool {
	has := cmp.Or(s.AdditionalProperties, s.UnevaluatedProperties, s.PropertyNames, s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems) != nil
	if !has && len(s.Properties)+len(s.PatternProperties)+len(s.PrefixItems)+len(s.ItemsArray) == 0 {
		return true // the schema has no rules for them
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

// inside returns the members of an object, or the elements of an array. It copies nothing,
// because a schema may read the same bytes on each level.
func inside(doc []byte) (members map[string]json.RawMessage, elements []json.RawMessage) {
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

// part describes the work of a schema.
type part struct {
	inPlace  []*jsonschema.Schema // the schemas that apply to the same value
	patterns int                  // the size of its patterns
	size     int                  // bytes to compare with any value
}

// types are the types of JSON Schema; "" is for a schema without one.
var types = []string{"", "array", "boolean", "integer", "null", "number", "object", "string"}

// measure computes the work of the schema.
func (k *Schema) measure() error {
	total := 0
	k.parts = map[*jsonschema.Schema]part{}
	for _, s := range everywhere(k.root) {
		for _, name := range append(slices.Clip(s.Types), s.Type) {
			if !slices.Contains(types, name) {
				return fmt.Errorf("has the type %q: expected one of%s", cut(name), strings.Join(types, " "))
			}
		}
		p := part{inPlace: append(inPlace(s), target(k.root, s.Ref)), size: 16 * (len(s.Required) + len(s.Properties))}
		if s.Enum != nil || s.Const != nil {
			values, _ := json.Marshal([]any{s.Enum, s.Const}) // they came from JSON
			p.size += len(values)
		}
		for _, pattern := range slices.AppendSeq([]string{s.Pattern}, maps.Keys(s.PatternProperties)) {
			if pattern == "" {
				continue
			}
			re, err := syntax.Parse(pattern, syntax.Perl)
			if err != nil {
				return fmt.Errorf("cannot be used: %w", err)
			}
			p.patterns += sizeOf(re)
		}
		k.parts[s] = p
		total += p.patterns
	}
	if total > maxPatterns {
		return errors.New("cannot be used: its patterns are too large")
	}
	return nil
}

// sizeOf returns roughly how many instructions a pattern has.
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
