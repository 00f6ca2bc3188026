package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// locate finds where and why a value does not match a schema. The library only says where in
// the schema.
func (c *check) locate(s *jsonschema.Schema, doc []byte, at string, depth int) (pointer, what string) {
	if depth > maxRefs {
		return at, unfit
	}
	if s.Ref != "" && only(s) {
		if to := target(c.root, s.Ref); to != nil {
			return c.locate(to, doc, at, depth+1)
		}
	}
	members, elements := inside(doc)
	for _, name := range s.Required {
		if _, ok := members[name]; members != nil && !ok {
			return at + "/" + escaper.Replace(name), "is required"
		}
	}
	others := c.checker(s.AdditionalProperties)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		in, known := s.Properties[name]
		if known && c.checker(in)(members[name]) != nil {
			return c.locate(in, members[name], at+"/"+escaper.Replace(name), depth+1)
		}
		if !known && s.AdditionalProperties != nil && len(s.PatternProperties) == 0 && others(members[name]) != nil {
			if never(s.AdditionalProperties) {
				return at + "/" + escaper.Replace(name), "is not an argument of this skill; it takes " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
			}
			return c.locate(s.AdditionalProperties, members[name], at+"/"+escaper.Replace(name), depth+1)
		}
	}
	each := c.checker(s.Items) // once: there may be many
	for i, e := range elements {
		if each(e) != nil {
			return c.locate(s.Items, e, at+"/"+strconv.Itoa(i), depth+1)
		}
	}
	return at, c.reason(s, doc)
}

// checker returns a function that validates values by a part of the schema, with references to
// the whole schema. If the part is nil, or if the check has used up its work limit, the
// function accepts everything.
func (c *check) checker(s *jsonschema.Schema) func(doc []byte) error {
	fits := func([]byte) error { return nil }
	if c.left -= len(c.parts) / 4; s == nil || c.left < 0 { // a step costs as much as about four copies of a schema
		return fits
	}
	alone := *s
	alone.Defs, alone.Definitions = c.root.Defs, nil
	resolved, err := alone.CloneSchemas().Resolve(nil)
	if err != nil {
		return fits
	}
	return func(doc []byte) error {
		var value any
		if !c.affords(doc, s) || json.Unmarshal(doc, &value) != nil {
			return nil
		}
		return resolved.Validate(value)
	}
}

// unfit is the reason if there is no more precise one.
const unfit = "does not fit the skill's schema"

// reason says why a value does not match, in this package's words for common reasons.
func (c *check) reason(s *jsonschema.Schema, doc []byte) string {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) > 0 && c.checker(&jsonschema.Schema{Types: types})(doc) != nil {
		return "must be of type " + strings.Join(types, " or ")
	}
	if len(s.Enum) > 0 && c.checker(&jsonschema.Schema{Enum: s.Enum})(doc) != nil {
		var all []string
		for _, v := range s.Enum {
			doc, _ := json.Marshal(v) // it came from JSON
			all = append(all, string(doc))
		}
		return "must be one of " + strings.Join(all, ", ")
	}
	err := c.checker(s)(doc)
	if err == nil {
		return unfit
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return unfit + ": " + err.Error()
}

// maxRefs limits the length of a chain of schemas.
const maxRefs = 64

// checkRefs refuses references to outside the schema, and references that lead back to
// themselves for the same value, because validation would never end.
func checkRefs(root *jsonschema.Schema) error {
	seen := map[*jsonschema.Schema]int{} // 1: under way, 2: done
	var walk func(s *jsonschema.Schema) error
	walk = func(s *jsonschema.Schema) error {
		if s == nil || seen[s] == 2 {
			return nil
		}
		if seen[s] == 1 {
			return errors.New("refers to itself without end")
		}
		seen[s] = 1
		if s.DynamicRef != "" {
			return errors.New("has $dynamicRef, which is not supported")
		}
		inPlace := inPlace(s)
		if s.Ref != "" {
			to := target(root, s.Ref)
			if to == nil {
				return fmt.Errorf("has the reference %q: those to #/$defs/NAME are supported", cut(s.Ref))
			}
			inPlace = append(inPlace, to)
		}
		for _, in := range inPlace {
			if err := walk(in); err != nil {
				return err
			}
		}
		seen[s] = 2
		return nil
	}
	for _, s := range everywhere(root) {
		if err := walk(s); err != nil {
			return err
		}
	}
	return nil
}

// inPlace lists the schemas within a schema that apply to the same value, except its reference.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else})
	list = slices.AppendSeq(list, maps.Values(s.DependentSchemas))
	return slices.AppendSeq(list, maps.Values(s.DependencySchemas))
}

// everywhere lists a schema and all schemas within it.
func everywhere(s *jsonschema.Schema) []*jsonschema.Schema {
	if s == nil {
		return nil
	}
	inner := slices.Concat([]*jsonschema.Schema{
		s.Not, s.If, s.Then, s.Else, s.Items, s.AdditionalItems, s.AdditionalProperties, s.Contains, s.PropertyNames, s.UnevaluatedItems, s.UnevaluatedProperties,
	}, s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems, s.ItemsArray)
	for _, in := range []map[string]*jsonschema.Schema{s.Properties, s.PatternProperties, s.Defs, s.Definitions, s.DependentSchemas, s.DependencySchemas} {
		for _, name := range slices.Sorted(maps.Keys(in)) {
			inner = append(inner, in[name])
		}
	}
	list := []*jsonschema.Schema{s}
	for _, in := range inner {
		list = append(list, everywhere(in)...)
	}
	return list
}

// whole is rooted's name for the schema itself among its definitions. It equals no name in
// JSON, because it is not UTF-8.
const whole = "\xff"

// rooted returns a schema whose references also work in a part of it: see checker. They all
// refer to $defs, and no part has an $id, which would make it a separate schema.
func rooted(root *jsonschema.Schema) *jsonschema.Schema {
	root = root.CloneSchemas()
	self := root.CloneSchemas()
	self.Defs, self.Definitions = nil, nil
	defs := map[string]*jsonschema.Schema{whole: self}
	maps.Copy(defs, root.Definitions)
	maps.Copy(defs, root.Defs)
	root.Defs, root.Definitions = defs, nil
	for _, s := range everywhere(root) {
		s.ID = ""
		if s.Ref == "#" {
			s.Ref += "/$defs/" + url.PathEscape(whole)
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/definitions/"); ok {
			s.Ref = "#/$defs/" + name
		}
	}
	return root
}

// target returns the schema that a reference within root names; nil for other references.
func target(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	name, err := url.PathUnescape(name) // as the library does
	if !ok || err != nil {
		return nil
	}
	return root.Defs[unescaper.Replace(name)]
}

// only reports whether a schema is only a reference.
func only(s *jsonschema.Schema) bool {
	return s.Type == "" && s.Types == nil && s.Properties == nil && s.Required == nil && s.AllOf == nil && s.AnyOf == nil && s.OneOf == nil && s.Enum == nil
}

// never reports whether a schema accepts nothing: false in JSON, which the library reads as
// {"not": {}}.
func never(s *jsonschema.Schema) bool {
	doc, err := json.Marshal(s)
	return err == nil && (string(doc) == "false" || string(doc) == `{"not":{}}` || string(doc) == `{"not":true}`)
}

// escaper and unescaper are for names in a JSON Pointer (RFC 6901).
var (
	escaper   = strings.NewReplacer("~", "~0", "/", "~1")
	unescaper = strings.NewReplacer("~0", "~", "~1", "/")
)
