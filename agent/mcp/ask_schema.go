package mcp

import (
	stdjson "encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-a2a/parley/internal/json"
)

// Of the schema of a question: how many fields it may have, how deep it may be, and
// how long the lists and patterns are that answers are compared with. Longer ones
// are for the server to check.
const (
	maxFields  = 100
	maxDepth   = 16
	maxChoices = 1000
	maxPattern = 200 // bytes
)

// checkOf reads the schema of a question into s, and returns what answers are
// checked with. That is built anew of the keywords that the protocol has for
// questions. All others are left to the server: a reference that leads to itself
// ends this process, combinations of combinations take for ever, and both are
// valid JSON Schema.
func checkOf(doc []byte, s *jsonschema.Schema) (*jsonschema.Resolved, error) {
	if len(doc) > maxQuestion || json.Deeper(doc, maxDepth) {
		return nil, errQuestion
	}
	if err := stdjson.Unmarshal(doc, s); err != nil {
		return nil, err
	}
	if len(s.Properties) > maxFields {
		return nil, errQuestion
	}
	check := &jsonschema.Schema{Type: s.Type, Types: s.Types, Required: s.Required}
	if more := s.AdditionalProperties; more != nil && more.Not != nil { // it is false
		check.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	if len(s.Properties) > 0 {
		check.Properties = map[string]*jsonschema.Schema{}
	}
	for name, p := range s.Properties {
		if p == nil {
			return nil, errQuestion
		}
		check.Properties[name] = simple(p)
	}
	var resolved *jsonschema.Resolved
	err := safely(func() (err error) {
		resolved, err = check.Resolve(nil)
		return err
	})
	return resolved, err
}

// simple returns what is checked of a field: see checkOf.
func simple(p *jsonschema.Schema) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: p.Type, Types: p.Types, Const: p.Const,
		Minimum: p.Minimum, Maximum: p.Maximum, ExclusiveMinimum: p.ExclusiveMinimum, ExclusiveMaximum: p.ExclusiveMaximum, MultipleOf: p.MultipleOf,
		MinLength: p.MinLength, MaxLength: p.MaxLength, MinItems: p.MinItems, MaxItems: p.MaxItems,
		OneOf: constants(p.OneOf), AnyOf: constants(p.AnyOf),
	}
	if len(p.Enum) <= maxChoices {
		s.Enum = p.Enum
	}
	if len(p.Pattern) <= maxPattern && !strings.Contains(p.Pattern, "{") { // which makes a short pattern large
		s.Pattern = p.Pattern
	}
	if p.Items != nil {
		s.Items = &jsonschema.Schema{Type: p.Items.Type, Types: p.Items.Types, OneOf: constants(p.Items.OneOf), AnyOf: constants(p.Items.AnyOf)}
		if len(p.Items.Enum) <= maxChoices {
			s.Items.Enum = p.Items.Enum
		}
	}
	return s
}

// constants returns alternatives that are one value each, or nil.
func constants(list []*jsonschema.Schema) []*jsonschema.Schema {
	if len(list) > maxChoices {
		return nil
	}
	var all []*jsonschema.Schema
	for _, one := range list {
		if one == nil || one.Const == nil {
			return nil
		}
		all = append(all, &jsonschema.Schema{Const: one.Const})
	}
	return all
}
