package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/a2a"
	"github.com/parley-a2a/parley/agent"
	skills "github.com/parley-a2a/parley/internal/skill"
)

const (
	maxQuestion = 64 << 10 // of a question's schema, and of an answer, in bytes
	maxWrong    = 5        // invalid answers before the tool is told that there is none
)

// respond answers the questions with which a call ended, one after another.
func (r *run) respond(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	answers := mcp.InputResponseMap{}
	for _, id := range slices.Sorted(maps.Keys(requests)) { // in the same order on every run
		q, ok := requests[id].(*mcp.ElicitParams)
		if !ok {
			return nil, agent.Public("the tool asks for something that is not offered here: a model, or folders", nil)
		}
		a, err := r.put(ctx, q)
		if err == nil && !r.place {
			err = r.enter(ctx)
		}
		if err != nil {
			return nil, err
		}
		answers[id] = a
	}
	return answers, nil
}

// asked answers a question of a call under way. The call goes on at once, even without
// a slot: a server that handles one call at a time may make the call that holds the
// slot wait for this one.
func (r *run) asked(ctx context.Context, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	a, err := r.put(ctx, q)
	withdrawn := err != nil && context.Cause(ctx) == errWithdrawn
	if (err == nil || withdrawn) && !r.place {
		r.tools.queue.Return()
		r.place = true
	}
	if withdrawn { // the client must not answer a question that no longer stands
		_ = r.turn.Status("") // an error says that the task has ended; later emissions fail, too
	}
	return a, err
}

// put asks the client the tool's question. While the client thinks about it, other
// turns may call their tools.
func (r *run) put(ctx context.Context, q *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	f, err := newForm(q)
	if err != nil {
		r.tools.log.Warn("a question of an MCP server cannot be asked", "error", err)
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	r.leave()
	a := &mcp.ElicitResult{Action: "cancel"}
	problem := ""
	for range maxWrong {
		m, err := r.turn.AskParts(ctx, f.question(problem)...)
		if err != nil {
			return nil, err
		}
		if fits, wrong := f.answer(m); wrong == "" {
			a = fits
			break
		} else {
			problem = wrong
		}
	}
	return a, nil
}

// form is a question with the fields of its answer. A question with a URL has no
// fields: the answer says whether the client went there.
type form struct {
	message string
	url     string
	doc     json.RawMessage // its schema
	fields  []string        // in the order in which they are asked for
	schema  *jsonschema.Schema
	check   *skills.Schema
}

var errQuestion = errors.New("mcp: the question has an unknown form")

func newForm(q *mcp.ElicitParams) (*form, error) {
	if q == nil {
		return nil, errQuestion
	}
	f := &form{message: cut(q.Message, maxReason), url: q.URL}
	if q.Mode == "url" || f.url != "" {
		if !visitable(f.url) {
			return nil, errQuestion
		}
		return f, nil
	}
	if q.RequestedSchema == nil {
		return f, nil
	}
	doc, err := json.Marshal(q.RequestedSchema)
	if err != nil {
		return nil, err
	}
	f.doc, f.schema = doc, new(jsonschema.Schema)
	if f.check, err = checkOf(doc, f.schema); err != nil {
		return nil, err
	}
	f.fields = slices.Sorted(maps.Keys(f.schema.Properties))
	// Required fields come first.
	slices.SortStableFunc(f.fields, func(a, b string) int { return f.optional(a) - f.optional(b) })
	return f, nil
}

func (f *form) optional(name string) int {
	if slices.Contains(f.schema.Required, name) {
		return 0
	}
	return 1
}

// question returns the question, as text for people and as data for programs.
func (f *form) question(problem string) []*a2a.Part {
	var b strings.Builder
	if problem != "" {
		fmt.Fprintf(&b, "%s\n\n", problem)
	}
	b.WriteString(f.message)
	about := map[string]any{"mode": "form", "message": f.message}
	switch {
	case f.url != "":
		fmt.Fprintf(&b, "\n\n%s\n\nAnswer when you have been there, or answer decline.", f.url)
		about = map[string]any{"mode": "url", "message": f.message, "url": f.url}
	case len(f.fields) == 0:
		b.WriteString("\n\nAnswer accept or decline.")
	case len(f.fields) == 1:
		fmt.Fprintf(&b, "\n\n%s\n\nOr answer decline.", f.line(f.fields[0]))
	default:
		b.WriteString("\n")
		for _, name := range f.fields {
			b.WriteString("\n" + f.line(name))
		}
		b.WriteString("\n\nAnswer with a line \"name: value\" for each, with data, or with decline.")
	}
	if f.doc != nil {
		about["requestedSchema"] = f.doc
	}
	parts := []*a2a.Part{a2a.TextPart(b.String())}
	if doc, err := json.Marshal(map[string]any{"elicitation": about}); err == nil {
		data := a2a.DataPart(doc)
		data.MediaType = "application/json"
		parts = append(parts, data)
	}
	return parts
}

// line describes a field.
func (f *form) line(name string) string {
	p := f.schema.Properties[name]
	kind := p.Type
	if values := choices(p); len(values) > 0 {
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = v.shown
		}
		kind = strings.Join(words, " | ")
	}
	if f.optional(name) == 1 {
		kind += ", optional"
	}
	line := fmt.Sprintf("%s (%s)", name, kind)
	if text := strings.TrimSpace(p.Title + " " + p.Description); text != "" {
		line += ": " + text
	}
	return cut(line, 1000)
}

// visitable reports whether a client may be sent to an address. People open it where it
// is shown, so it must be a web URL of printable characters.
func visitable(address string) bool {
	return a2a.WebURL(address) != nil && len(address) <= maxReason &&
		utf8.ValidString(address) && !strings.ContainsFunc(address, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
}

// answer reads a client's message. A problem, if not "", is shown to the client.
func (f *form) answer(m *a2a.Message) (*mcp.ElicitResult, string) {
	size := 0
	for _, p := range m.Parts {
		size += len(p.Text) + len(p.Data)
	}
	if size > maxQuestion {
		return nil, fmt.Sprintf("The answer has %d bytes; the limit is %d.", size, maxQuestion)
	}
	objects, texts := contentOf(m)
	text := strings.TrimSpace(strings.Join(texts, "\n"))
	if len(objects) == 0 && isObject([]byte(text)) {
		objects = append(objects, json.RawMessage(text))
	}
	for _, doc := range objects {
		var content map[string]any
		if json.Unmarshal(doc, &content) == nil {
			return f.data(content)
		}
	}
	switch strings.ToLower(text) {
	case "decline", "cancel":
		return &mcp.ElicitResult{Action: strings.ToLower(text)}, ""
	}
	if f.url != "" {
		return &mcp.ElicitResult{Action: "accept"}, ""
	}
	switch len(f.fields) {
	case 0:
		switch strings.ToLower(text) {
		case "accept", "yes", "y", "ok":
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, ""
		case "no", "n":
			return &mcp.ElicitResult{Action: "decline"}, ""
		}
		return nil, "That is neither accept nor decline."
	case 1:
		return f.accept(map[string]any{f.fields[0]: value(f.schema.Properties[f.fields[0]], text)})
	}
	content := map[string]any{}
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if i := slices.IndexFunc(f.fields, func(known string) bool { return strings.EqualFold(known, name) }); ok && i >= 0 {
			content[f.fields[i]] = value(f.schema.Properties[f.fields[i]], strings.TrimSpace(rest))
		} else if strings.TrimSpace(line) != "" {
			return nil, fmt.Sprintf("%q is not a line \"name: value\" for one of the questions.", cut(strings.TrimSpace(line), 100))
		}
	}
	return f.accept(content)
}

// data reads an answer that is an object: the fields, or MCP's own form {"action",
// "content"}.
func (f *form) data(content map[string]any) (*mcp.ElicitResult, string) {
	action, ok := content["action"].(string)
	own := f.schema != nil && f.schema.Properties["action"] != nil
	if ok && !own && slices.Contains([]string{"accept", "decline", "cancel"}, action) {
		if action != "accept" {
			return &mcp.ElicitResult{Action: action}, ""
		}
		content, _ = content["content"].(map[string]any)
	}
	if f.url != "" {
		return &mcp.ElicitResult{Action: "accept"}, ""
	}
	return f.accept(content)
}

func (f *form) accept(content map[string]any) (*mcp.ElicitResult, string) {
	if content == nil {
		content = map[string]any{}
	}
	if f.check != nil {
		doc, err := json.Marshal(content)
		if err == nil {
			err = safely(func() error { return f.check.Validate(doc) })
		}
		if err != nil && err != skills.ErrTooMuch { // the server must check it then
			return nil, "The answer does not fit: " + cut(lastCause(err), 500) + "."
		}
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, ""
}

// lastCause returns the last part of a validator's error, which says what is wrong. The
// parts before say only where.
func lastCause(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": validating "); i >= 0 {
		text = text[i+len(": validating "):]
	}
	return strings.TrimPrefix(text, "validating ")
}

// value converts a text to the type of a field, or returns it unchanged, so that the
// check refuses it.
func value(p *jsonschema.Schema, text string) any {
	for _, c := range choices(p) {
		if strings.EqualFold(text, c.value) || strings.EqualFold(text, c.shown) {
			return c.value
		}
	}
	switch p.Type {
	case "number", "integer":
		if n, err := strconv.ParseFloat(text, 64); err == nil && finite(n) == n {
			return n
		}
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "yes", "y":
			return true
		case "false", "no", "n":
			return false
		}
	case "array":
		list := []any{}
		for word := range strings.SplitSeq(text, ",") {
			if word = strings.TrimSpace(word); word != "" {
				list = append(list, word)
			}
		}
		return list
	}
	return text
}

type choice struct{ value, shown string }

// choices returns the values that a field can have, if its schema lists them.
func choices(p *jsonschema.Schema) []choice {
	var list []choice
	for i, v := range p.Enum {
		if s, ok := v.(string); ok {
			c := choice{clean(s), clean(s)}
			if names, ok := p.Extra["enumNames"].([]any); ok && i < len(names) {
				if name, ok := names[i].(string); ok {
					c.shown = clean(name)
				}
			}
			list = append(list, c)
		}
	}
	for _, one := range p.OneOf {
		if one == nil || one.Const == nil {
			continue
		}
		if s, ok := (*one.Const).(string); ok {
			c := choice{clean(s), clean(s)}
			if one.Title != "" {
				c.shown = clean(one.Title)
			}
			list = append(list, c)
		}
	}
	return list
}
