package config

import (
	"encoding/json"
	"slices"
	"strings"
)

// SchemaID names the schema of version 1 of the file.
const SchemaID = "https://github.com/parley-a2a/parley/blob/main/docs/config.md"

// Schema returns a JSON Schema (draft 2020-12) of the file, for editors. It covers names, types
// and single values; only Parse checks rules that involve several values.
func Schema() []byte {
	s := root.schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = SchemaID
	s["title"] = "parley.yaml"
	s["patternProperties"] = map[string]any{"^x-": true}
	s["$defs"] = map[string]any{"env": map[string]any{
		"type": "string", "pattern": envPattern, "description": "a variable of the environment",
	}}
	doc, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // cannot fail for maps and strings
	}
	return append(doc, '\n')
}

const envPattern = `\$\{env:[A-Za-z_][A-Za-z0-9_]*\}`

// orEnv allows any of these schemas, or text with a variable in it.
func orEnv(schemas ...map[string]any) map[string]any {
	either := []any{}
	for _, s := range schemas {
		either = append(either, s)
	}
	return map[string]any{"anyOf": append(either, map[string]any{"$ref": "#/$defs/env"})}
}

func (f *field) schema() map[string]any {
	s := f.typeSchema()
	if about := f.about(); about != "" {
		s["description"] = about
	}
	return s
}

// about returns the description of a field, with its default.
func (f *field) about() string {
	switch {
	case f.def == "":
		return f.doc
	case strings.HasSuffix(f.def, "*"):
		return f.doc + ". Default: " + strings.TrimSuffix(f.def, "*") + " where others than this machine's users can call, else none"
	}
	return f.doc + ". Default: " + f.def
}

func (f *field) typeSchema() map[string]any {
	text := func(pattern string) map[string]any { return map[string]any{"type": "string", "pattern": pattern} }
	switch f.kind {
	case boolean:
		return orEnv(map[string]any{"type": "boolean"})
	case integer, number:
		n := map[string]any{"type": map[kind]string{integer: "integer", number: "number"}[f.kind], "minimum": f.least}
		if f.atMost > 0 {
			n["maximum"] = f.atMost
		}
		return orEnv(n)
	case duration:
		return orEnv(text(`^([0-9]+d([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))*|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`), map[string]any{"const": 0}, text("^0$"))
	case size:
		return orEnv(text(`^[0-9]+([KMGkmg][Ii][Bb])?$`), map[string]any{"type": "integer", "minimum": f.least})
	case word:
		return orEnv(map[string]any{"enum": f.words})
	case link:
		return orEnv(text("^https?://"))
	case secret:
		if f.name == "" { // of a header, which may be harmless
			return map[string]any{"type": []string{"string", "number", "boolean"}}
		}
		return map[string]any{"$ref": "#/$defs/env"}
	case list:
		s := map[string]any{"type": "array", "items": f.elem.schema()}
		if f.need {
			s["minItems"] = 1
		}
		return s
	case dict:
		return f.dictSchema()
	case object:
		return f.objectSchema()
	case anything:
		return map[string]any{}
	}
	if f.loose {
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	return map[string]any{"type": "string", "minLength": 1}
}

func (f *field) dictSchema() map[string]any {
	s := map[string]any{"type": "object", "additionalProperties": f.elem.schema()}
	if f.name != "agents" {
		return s
	}
	s["propertyNames"] = map[string]any{"pattern": "^[a-z0-9][a-z0-9-]{0,62}$"}
	s["minProperties"] = 1
	one := []any{}
	for _, kind := range kinds {
		one = append(one, map[string]any{"required": []string{kind}})
	}
	s["additionalProperties"].(map[string]any)["oneOf"] = one
	return s
}

func (f *field) objectSchema() map[string]any {
	members, required := map[string]any{}, []string{}
	either := []any{}
	for _, c := range f.fields {
		members[c.name] = c.schema()
		if c.besideFile() {
			members[c.name+fileSuffix] = map[string]any{"type": "string", "minLength": 1, "description": "a file with it: " + c.doc}
			either = append(either, map[string]any{"not": map[string]any{"required": []string{c.name, c.name + fileSuffix}}})
		}
		if c.need {
			required = append(required, c.name)
		}
	}
	s := map[string]any{"type": "object", "properties": members, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	if f.child("command") != nil && !slices.Contains(required, "command") { // an MCP server
		s["oneOf"] = []any{map[string]any{"required": []string{"command"}}, map[string]any{"required": []string{"url"}}}
	}
	if len(either) > 0 {
		s["allOf"] = either
	}
	return s
}
