package mcpserver

import (
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
)

// answerID names the one question of a result.
const answerID = "answer"

// elicits reports whether the client can ask its person with a form.
func elicits(r *mcp.CallToolRequest) bool {
	c := r.ClientCapabilities()
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// question makes a form of what a task asks. An agent that says which fields it
// wants, as agents of MCP servers do, has its own form.
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

// form returns the form in a question's data, if there is one that clients take:
// flat, of simple types. It has no field of the name of ours, so that answers are
// told apart.
func form(parts []*a2a.Part) (message string, schema json.RawMessage) {
	for _, p := range parts {
		var doc struct {
			Elicitation struct {
				Message string          `json:"message"`
				Schema  json.RawMessage `json:"requestedSchema"`
			} `json:"elicitation"`
		}
		if p.Kind != a2a.PartData || len(p.Data) > 64<<10 || json.Unmarshal(p.Data, &doc) != nil || doc.Elicitation.Schema == nil {
			continue
		}
		var s struct {
			Type       string `json:"type"`
			Properties map[string]struct {
				Type string `json:"type"`
			} `json:"properties"`
		}
		if json.Unmarshal(doc.Elicitation.Schema, &s) != nil || s.Type != "object" {
			continue
		}
		flat := true
		for name, p := range s.Properties {
			switch p.Type {
			case "string", "number", "integer", "boolean", "array":
			default:
				flat = false
			}
			flat = flat && name != answerID
		}
		if flat {
			return doc.Elicitation.Message, doc.Elicitation.Schema
		}
	}
	return "", nil
}

// answer makes a message of what the client's person said; nil if that is nothing.
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
