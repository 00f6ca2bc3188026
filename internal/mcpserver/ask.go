package mcpserver

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
)

// answerID is the id of the single question of a result.
const answerID = "answer"

// elicits reports whether the client can show its user a form.
func elicits(r *mcp.CallToolRequest) bool {
	c := r.ClientCapabilities()
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// question turns a task's question into a form. An agent that describes the fields it
// wants, as agents of MCP servers do, gets that form.
func question(t *a2a.Task) *mcp.ElicitParams {
	q := &mcp.ElicitParams{Mode: "form", Message: "The agent needs input."}
	if m := t.Status.Message; m != nil {
		if text := textOf(m.Parts); text != "" {
			q.Message = cut(text, maxDescription)
		}
		if message, schema := form(m.Parts); schema != nil {
			if message != "" {
				q.Message = cut(message, maxDescription)
			}
			q.RequestedSchema = schema
			return q
		}
	}
	q.RequestedSchema = map[string]any{
		"type":       "object",
		"properties": map[string]any{answerID: map[string]any{"type": "string", "title": "Your answer"}},
		"required":   []string{answerID},
	}
	return q
}

// form returns the form in a question's data, if there is one that clients accept:
// flat, with simple types. It is rebuilt from the known members, because some clients
// fail on others. It has no field named answerID, so that answers can be told apart.
func form(parts []*a2a.Part) (message string, schema map[string]any) {
	for _, p := range parts {
		var doc struct {
			Elicitation struct {
				Message string `json:"message"`
				Schema  struct {
					Type       string           `json:"type"`
					Properties map[string]field `json:"properties"`
					Required   []string         `json:"required"`
				} `json:"requestedSchema"`
			} `json:"elicitation"`
		}
		if p.Kind != a2a.PartData || len(p.Data) > 64<<10 || json.Unmarshal(p.Data, &doc) != nil {
			continue
		}
		asked := doc.Elicitation.Schema
		if asked.Type != "object" || len(asked.Properties) == 0 {
			continue
		}
		properties := map[string]any{}
		for name, f := range asked.Properties {
			if one := f.schema(); one != nil && name != answerID {
				properties[name] = one
			}
		}
		if len(properties) != len(asked.Properties) {
			continue
		}
		schema = map[string]any{"type": "object", "properties": properties}
		required := []string{}
		for _, name := range asked.Required {
			if properties[name] != nil {
				required = append(required, name)
			}
		}
		if len(required) > 0 {
			schema["required"] = required
		}
		return doc.Elicitation.Message, schema
	}
	return "", nil
}

// field is the known members of a field's schema.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	Format      string   `json:"format"`
	Minimum     *float64 `json:"minimum"`
	Maximum     *float64 `json:"maximum"`
	MinLength   *int     `json:"minLength"`
	MaxLength   *int     `json:"maxLength"`
	OneOf       []struct {
		Const string `json:"const"`
		Title string `json:"title"`
	} `json:"oneOf"`
}

// schema returns the field in a form that every client accepts, or nil.
func (f *field) schema() map[string]any {
	one := map[string]any{"type": f.Type}
	for name, text := range map[string]string{"title": f.Title, "description": f.Description} {
		if text != "" {
			one[name] = cut(text, 1000)
		}
	}
	switch f.Type {
	case "boolean":
	case "number", "integer":
		if f.Minimum != nil && f.Maximum != nil && *f.Minimum > *f.Maximum {
			return nil
		}
		if f.Minimum != nil {
			one["minimum"] = *f.Minimum
		}
		if f.Maximum != nil {
			one["maximum"] = *f.Maximum
		}
	case "string":
		var titled []map[string]string
		for _, o := range f.OneOf {
			if o.Const == "" {
				return nil
			}
			title := cmp.Or(o.Title, o.Const)
			titled = append(titled, map[string]string{"const": o.Const, "title": title})
		}
		switch {
		case len(f.Enum) > 0:
			one["enum"] = f.Enum
		case len(titled) > 0:
			one["oneOf"] = titled
		default:
			least, most := f.MinLength, f.MaxLength
			if least != nil && (*least < 0 || most != nil && *most < *least) || most != nil && *most < 0 {
				return nil
			}
			if least != nil {
				one["minLength"] = *least
			}
			if most != nil {
				one["maxLength"] = *most
			}
			switch f.Format {
			case "email", "uri", "date", "date-time":
				one["format"] = f.Format
			}
		}
	default:
		return nil
	}
	return one
}

// answer returns the user's answer as parts; nil if there is none.
func answer(a *mcp.ElicitResult) []*a2a.Part {
	if a == nil || a.Action != "accept" {
		return nil
	}
	if text, ok := a.Content[answerID].(string); ok && len(a.Content) == 1 {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		return []*a2a.Part{a2a.TextPart(text)}
	}
	content := a.Content
	if content == nil {
		content = map[string]any{}
	}
	doc, err := json.Marshal(content)
	if err != nil {
		return nil
	}
	p := a2a.DataPart(doc)
	p.MediaType = "application/json"
	return []*a2a.Part{p}
}
