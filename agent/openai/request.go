package openai

import (
	"encoding/json"
	"maps"

	"github.com/parley-a2a/parley/a2a"
)

// message is a message of a request.
type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // a string, []content, or nil beside calls
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// content is a piece of a message.
type content struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
	File     *file     `json:"file,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type file struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"`
}

// toolCall is a call of the model, as it came and as it is sent back.
type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // function
	Function function `json:"function"`
	// Extra must be sent back to Gemini unchanged.
	Extra json.RawMessage `json:"extra_content,omitempty"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string `json:"type"` // function
	Function struct {
		Name        string   `json:"name"`
		Description string   `json:"description,omitempty"`
		Parameters  a2a.JSON `json:"parameters"`
	} `json:"function"`
}

// shape returns the type of the request's response_format, as far as the endpoint
// supports it; "" if there is none.
func (r *run) shape() string {
	switch {
	case !r.format.wanted:
		return ""
	case r.format.schema != nil && !r.a.noSchema.Load():
		return "json_schema"
	case !r.a.noObject.Load():
		return "json_object"
	}
	return ""
}

// body returns the body of a request. lastly tells the model to finish, without further
// calls.
func (r *run) body(lastly bool) ([]byte, error) {
	a := r.a
	m := map[string]any{
		"model":    a.model,
		"messages": r.messages,
		"stream":   true,
	}
	if !a.noStreamOptions.Load() {
		m["stream_options"] = map[string]any{"include_usage": true}
	}
	if t := a.opts.Temperature; t != nil {
		m["temperature"] = *t
	}
	if n := a.opts.MaxTokens; n > 0 {
		if a.newMaxTokens.Load() {
			m["max_completion_tokens"] = n
		} else {
			m["max_tokens"] = n
		}
	}
	if len(r.tools.list) > 0 {
		m["tools"] = r.tools.list
		if lastly {
			m["tool_choice"] = "none"
		}
	}
	switch r.shape() {
	case "json_schema":
		m["response_format"] = map[string]any{
			"type": "json_schema", "json_schema": map[string]any{"name": r.format.name, "schema": r.format.schema},
		}
	case "json_object":
		m["response_format"] = map[string]any{"type": "json_object"}
	}
	r.sent = maps.Clone(m)
	maps.Copy(m, a.opts.Extra)
	return json.Marshal(m)
}
