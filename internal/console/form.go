package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/a2a"
)

// question is an agent's question with a schema for its answer, as MCP servers ask
// (elicitation). It becomes a form with the field types of MCP; the agent must check other
// rules of the schema.
type question struct {
	Message string
	Problem string // why the previous answer was invalid
	Link    string // an address for the user to open; then there are no fields
	Fields  []field
}

// field is a field of a question's form.
type field struct {
	Name, Title, About string
	Kind               string // the type of the input; or select, several or check
	Required           bool
	Min, Max, Step     string
	Choices            []choice
	Value              string
	number             bool // also if its Kind is select
}

type choice struct {
	Value, Title string
	Chosen       bool
}

// Limits of a form: a larger question is shown as text and data.
const (
	maxFields  = 50
	maxChoices = 200
)

// schema is the part of a JSON schema that forms use.
type schema struct {
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Required    []string          `json:"required"`
	Properties  json.RawMessage   `json:"properties"`
	Enum        []json.RawMessage `json:"enum"`
	EnumNames   []string          `json:"enumNames"`
	OneOf       []option          `json:"oneOf"`
	AnyOf       []option          `json:"anyOf"`
	Items       *schema           `json:"items"`
	Default     json.RawMessage   `json:"default"`
	Minimum     json.Number       `json:"minimum"`
	Maximum     json.Number       `json:"maximum"`
	MinLength   *int              `json:"minLength"`
	MaxLength   *int              `json:"maxLength"`
}

type option struct {
	Const json.RawMessage `json:"const"`
	Title string          `json:"title"`
}

// questionOf finds the question in a message; nil if there is none that a form can show.
func questionOf(m *a2a.Message) *question {
	if m == nil {
		return nil
	}
	for _, p := range m.Parts {
		if p.Kind != a2a.PartData {
			continue
		}
		var doc struct {
			Elicitation *struct {
				Message, URL string
				Schema       json.RawMessage `json:"requestedSchema"`
			} `json:"elicitation"`
		}
		if json.Unmarshal(p.Data, &doc) != nil || doc.Elicitation == nil {
			continue
		}
		e := doc.Elicitation
		q := &question{Message: calm(e.Message)}
		if before, _, ok := strings.Cut(m.Text(), e.Message); ok && e.Message != "" {
			q.Problem = calm(strings.TrimSpace(before))
		}
		if e.URL != "" {
			if !webAddress(e.URL) {
				return nil
			}
			q.Link = calm(e.URL)
			return q
		}
		if len(e.Schema) > 0 && !q.read(e.Schema) {
			return nil
		}
		return q
	}
	return nil
}

// read makes the fields from a schema, required ones first.
func (q *question) read(doc json.RawMessage) bool {
	var s schema
	if json.Unmarshal(doc, &s) != nil {
		return false
	}
	names := keysOf(s.Properties)
	var all map[string]schema
	if len(names) > maxFields || len(names) > 0 && json.Unmarshal(s.Properties, &all) != nil {
		return false
	}
	for _, name := range names {
		p := all[name]
		f, ok := fieldOf(name, &p)
		if !ok {
			return false
		}
		f.Required = slices.Contains(s.Required, name)
		q.Fields = append(q.Fields, f)
	}
	rank := map[bool]int{true: 1, false: 2}
	slices.SortStableFunc(q.Fields, func(x, y field) int { return rank[x.Required] - rank[y.Required] })
	return true
}

// keysOf returns the names of an object's members, in their order.
func keysOf(doc json.RawMessage) (names []string) {
	d := json.NewDecoder(bytes.NewReader(doc))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil
		}
		name, _ := t.(string)
		names = append(names, name)
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return nil
		}
	}
	return names
}

var kinds = map[string]string{"email": "email", "uri": "url", "date": "date"}

func fieldOf(name string, p *schema) (field, bool) {
	f := field{Name: name, Title: calm(p.Title), About: calm(p.Description), Value: textOf(p.Default)}
	f.Title = cmp.Or(f.Title, calm(name))
	of := p
	switch p.Type {
	case "boolean":
		f.Kind = "check"
	case "integer", "number":
		f.Kind, f.number, f.Step = "number", true, "any"
		if p.Type == "integer" {
			f.Step = "1"
		}
		f.Min, f.Max = p.Minimum.String(), p.Maximum.String()
	case "array":
		if p.Items == nil {
			return f, false
		}
		f.Kind, of = "several", p.Items
	case "string", "":
		if f.Kind = kinds[p.Format]; f.Kind == "" {
			f.Kind = "text"
		}
		if p.MinLength != nil && *p.MinLength > 0 {
			f.Min = strconv.Itoa(*p.MinLength)
		}
		if p.MaxLength != nil && *p.MaxLength >= 0 {
			f.Max = strconv.Itoa(*p.MaxLength)
		}
	default:
		return f, false
	}
	var chosen []json.RawMessage
	several := f.Kind == "several"
	if several {
		_ = json.Unmarshal(p.Default, &chosen) // on an error nothing is chosen
	}
	add := func(v json.RawMessage, title string) {
		c := choice{Value: textOf(v), Title: calm(title)}
		c.Title = cmp.Or(c.Title, calm(c.Value))
		c.Chosen = !several && len(p.Default) > 0 && c.Value == f.Value ||
			slices.ContainsFunc(chosen, func(d json.RawMessage) bool { return textOf(d) == c.Value })
		f.Choices = append(f.Choices, c)
	}
	for i, v := range of.Enum {
		title := ""
		if i < len(of.EnumNames) {
			title = of.EnumNames[i]
		}
		add(v, title)
	}
	for _, o := range slices.Concat(of.OneOf, of.AnyOf) {
		add(o.Const, o.Title)
	}
	switch {
	case len(f.Choices) > maxChoices, several && len(f.Choices) == 0:
		return f, false
	case len(f.Choices) > 0 && !several && f.Kind != "check":
		f.Kind = "select"
	}
	return f, true
}

// textOf returns a JSON value as text for a field.
func textOf(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// answerOf makes the answer from a form's values. If a field is named action, the answer has no
// action member beside the fields.
func (q *question) answerOf(v url.Values) (*a2a.Part, error) {
	own := slices.ContainsFunc(q.Fields, func(f field) bool { return f.Name == "action" })
	declined := v.Get("action") == "decline"
	if declined && own {
		return a2a.TextPart("decline"), nil
	}
	answer := map[string]any{"action": "decline"}
	if !declined {
		content, err := q.contentOf(v)
		if err != nil {
			return nil, err
		}
		if answer = content; !own {
			answer = map[string]any{"action": "accept", "content": content}
		}
	}
	doc, err := json.Marshal(answer)
	if err != nil {
		return nil, a2a.Invalid("the form", "cannot be sent as it is")
	}
	p := a2a.DataPart(doc)
	p.MediaType = "application/json"
	return p, nil
}

// contentOf returns the values of the fields by their names.
func (q *question) contentOf(v url.Values) (map[string]any, error) {
	content := map[string]any{}
	for _, f := range q.Fields {
		given := v["f."+f.Name]
		switch {
		case f.Kind == "check":
			content[f.Name] = len(given) > 0
		case f.Kind == "several":
			if len(given) > 0 || f.Required {
				content[f.Name] = append([]string{}, given...)
			}
		case len(given) == 0 || strings.TrimSpace(given[0]) == "":
			if f.Required {
				return nil, a2a.Invalid(f.Title, "is missing")
			}
		case f.number:
			n := strings.TrimSpace(given[0])
			if !json.Valid([]byte(n)) {
				return nil, a2a.Invalid(f.Title, "must be a number, not %q", n)
			}
			content[f.Name] = json.Number(n)
		default:
			content[f.Name] = strings.ReplaceAll(given[0], "\r\n", "\n")
		}
	}
	return content, nil
}

// fieldIn returns a field's data for its template: block is the id of the question.
func fieldIn(block string, n int, f field) any {
	return struct {
		field
		ID string
	}{f, fmt.Sprintf("%sf%d", block, n)}
}
