package openai

import (
	"encoding/json"
	"mime"
	"strings"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
)

// format says whether a caller wants JSON, and in which shape.
type format struct {
	wanted bool
	schema a2a.JSON // or nil
	name   string   // of schema
}

// formatFor reads the client's accepted output modes: JSON is wanted if it comes before
// any text. The schema is the member "schema" in the metadata of the message, or of the
// request.
func formatFor(t *agent.Turn) (format, error) {
	var f format
	for _, mode := range t.AcceptedOutputModes() {
		media, _, _ := mime.ParseMediaType(mode)
		if media == "application/json" || strings.HasSuffix(media, "+json") {
			f.wanted = true
			break
		}
		if strings.HasPrefix(media, "text/") || media == "*/*" {
			break
		}
	}
	if !f.wanted {
		return f, nil
	}
	for _, doc := range []a2a.JSON{t.Message().Metadata, t.Metadata()} {
		var m struct {
			Schema json.RawMessage `json:"schema"`
		}
		if len(doc) == 0 || json.Unmarshal(doc, &m) != nil || len(m.Schema) == 0 || string(m.Schema) == "null" {
			continue
		}
		var s struct {
			Title string `json:"title"`
		}
		switch {
		case len(m.Schema) > maxSchema:
			return f, unfit("the metadata's schema is too large")
		case m.Schema[0] != '{', json.Unmarshal(m.Schema, &s) != nil:
			return f, unfit("the metadata's schema must be a JSON Schema: an object, whose title is a string")
		}
		f.schema, f.name = a2a.JSON(m.Schema), "answer"
		if s.Title != "" {
			f.name = known(s.Title)
		}
		break
	}
	return f, nil
}

// instruction returns a text for the system prompt: the API refuses json_object if no
// message mentions JSON, and endpoints that do not know response_format need it.
func (f *format) instruction() string {
	switch {
	case !f.wanted:
		return ""
	case f.schema == nil:
		return "Answer with one JSON object and nothing else."
	}
	return "Answer with one JSON value and nothing else. It has to be valid against this JSON Schema: " + string(f.schema)
}

// value extracts the JSON from an answer; some models still wrap it in Markdown.
func (f *format) value(text string) (a2a.JSON, bool) {
	text = strings.TrimSpace(text)
	if rest, fenced := strings.CutPrefix(text, "```"); fenced {
		text = strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(rest), "```"), "json")
		text = strings.TrimSpace(text)
	}
	v := &a2a.Artifact{ArtifactID: "x", Parts: []*a2a.Part{a2a.DataPart(a2a.JSON(text))}}
	return a2a.JSON(text), json.Valid([]byte(text)) && v.Validate() == nil // it may be nested too deep to be read again
}
