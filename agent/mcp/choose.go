package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
)

// wanted is the call that a message asks for.
type wanted struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// choose determines which tool a message calls, and with which arguments. problem, if
// not "", says why there is no call, for the sender.
func choose(tools []*mcp.Tool, m *a2a.Message, request a2a.JSON) (w wanted, problem string) {
	if len(tools) == 0 {
		return w, "this agent has no tools at present"
	}
	call, err := m.Skill()
	if err != nil {
		return w, err.Error()
	}
	data, texts := contentOf(m)
	text := strings.Join(texts, "\n")

	var named []wanted // each is a complete call
	if call != nil {   // a skill is a tool
		named = []wanted{{call.ID, json.RawMessage(call.Arguments)}}
	} else {
		for _, doc := range data {
			if w, ok := parseWanted(doc); ok {
				named = append(named, w)
			}
		}
		if w, ok := parseWanted([]byte(text)); ok && len(named) == 0 {
			named = append(named, w)
		}
	}
	switch len(named) {
	case 0:
		for _, meta := range []a2a.JSON{m.Metadata, request} {
			if named, ok := parseWanted(meta); ok {
				w = named
				break
			}
		}
		if w.Tool == "" && len(tools) == 1 {
			w.Tool = tools[0].Name
		}
	case 1:
		w = named[0]
	default:
		return w, "a message calls one tool, and this one names " + strconv.Itoa(len(named)) + ". " + help(tools)
	}
	if w.Tool == "" {
		return w, "which tool? " + help(tools)
	}
	tool := find(tools, w.Tool)
	if tool == nil {
		return w, fmt.Sprintf("there is no tool %q. %s", cut(w.Tool, 100), help(tools))
	}
	if len(named) == 1 || w.Arguments != nil && string(w.Arguments) != "null" {
		return checked(w)
	}
	in := schemaOf(tool)
	name, takesText := textArgument(in)
	switch {
	case len(data) > 1:
		return w, "a message has the arguments of one call, and this one has several parts of data. " + help(tools)
	case len(data) == 1:
		w.Arguments = data[0]
	case isObject([]byte(text)) && json.Valid([]byte(text)):
		w.Arguments = json.RawMessage(text)
	case takesText && len(texts) > 0:
		doc, err := json.Marshal(map[string]string{name: text})
		if err != nil {
			return w, "the text cannot be an argument"
		}
		w.Arguments = doc
	case len(in.Required) > 0:
		return w, fmt.Sprintf("the tool %s needs arguments. %s", tool.Name, help(tools))
	}
	return checked(w)
}

// contentOf returns the objects and the texts of a message.
func contentOf(m *a2a.Message) (objects []json.RawMessage, texts []string) {
	for _, p := range m.Parts {
		switch {
		case p.Kind == a2a.PartText:
			texts = append(texts, p.Text)
		case p.Kind == a2a.PartData && isObject(p.Data):
			objects = append(objects, json.RawMessage(p.Data))
		}
	}
	return objects, texts
}

// parseWanted reads an object that names a tool.
func parseWanted(doc []byte) (w wanted, ok bool) {
	if !isObject(doc) || json.Unmarshal(doc, &w) != nil {
		return wanted{}, false
	}
	return w, w.Tool != ""
}

func checked(w wanted) (wanted, string) {
	w.Arguments = orObject(w.Arguments)
	if !isObject(w.Arguments) {
		return w, fmt.Sprintf("the arguments of the tool %s must be an object", cut(w.Tool, 100))
	}
	return w, ""
}

func find(tools []*mcp.Tool, name string) *mcp.Tool {
	if i := slices.IndexFunc(tools, func(t *mcp.Tool) bool { return t.Name == name }); i >= 0 {
		return tools[i]
	}
	return nil
}

func isObject(doc []byte) bool {
	doc = bytes.TrimSpace(doc)
	return len(doc) > 1 && doc[0] == '{' && doc[len(doc)-1] == '}'
}

// Limits of a help text: tools, and roughly bytes.
const (
	maxHelpTools = 40
	maxHelp      = 4 << 10
)

// help explains how to call tools, and lists them.
func help(tools []*mcp.Tool) string {
	var b strings.Builder
	b.WriteString(`Send a part of data, or a text, {"tool": "name", "arguments": {…}}. The tools are: `)
	for i, tool := range tools {
		if i == maxHelpTools || b.Len() > maxHelp {
			fmt.Fprintf(&b, " and %d more", len(tools)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(cut(tool.Name, 128) + "(" + cut(strings.Join(arguments(schemaOf(tool)), ", "), 300) + ")")
	}
	return b.String()
}

// schemaOf decodes a tool's schema, or returns an empty one if it is unusual.
func schemaOf(tool *mcp.Tool) *jsonschema.Schema {
	s := new(jsonschema.Schema)
	doc, err := json.Marshal(tool.InputSchema)
	if err != nil || json.Unmarshal(doc, s) != nil {
		return new(jsonschema.Schema)
	}
	return s
}

// textArgument returns the argument that takes a plain text: the only required one or,
// if none is required, the only one.
func textArgument(s *jsonschema.Schema) (string, bool) {
	name := ""
	switch {
	case len(s.Required) == 1:
		name = s.Required[0]
	case len(s.Required) == 0 && len(s.Properties) == 1:
		for name = range s.Properties {
		}
	default:
		return "", false
	}
	return name, kind(s.Properties[name]) == "string"
}

// arguments lists the arguments, the required ones first.
func arguments(s *jsonschema.Schema) []string {
	list := slices.Clone(s.Required)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, name) {
			list = append(list, name+"?")
		}
	}
	return list
}

// kind returns the type of a property, which may be nil; if it has several, the first.
func kind(p *jsonschema.Schema) string {
	switch {
	case p == nil:
		return ""
	case len(p.Types) > 0:
		return p.Types[0]
	}
	return p.Type
}

// example returns an example value for a property, which may be nil.
func example(p *jsonschema.Schema) any {
	var v any
	switch {
	case p == nil:
		return nil
	case len(p.Examples) > 0:
		return p.Examples[0]
	case json.Unmarshal(p.Default, &v) == nil && v != nil:
		return v
	case len(p.Enum) > 0:
		return p.Enum[0]
	}
	switch kind(p) {
	case "string":
		return "…"
	case "number", "integer":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	}
	return nil
}
