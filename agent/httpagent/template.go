package httpagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	jsons "github.com/parley-a2a/parley/internal/json"
)

// maxTemplate caps a template, in bytes.
const maxTemplate = 64 << 10

// templateNames are the names that ${…} may have.
var templateNames = []string{"text", "task", "context", "message", "subject", "tenant", "skill", "arguments"}

// template is the body of requests to a service that has a format of its own: a JSON
// document with ${name} in its strings, or the values of a form. docs/http.md has the
// grammar.
type template struct {
	json  pieces  // nil for a form
	pairs []field // of a form
}

// field is a field of a form.
type field struct {
	name  string
	value pieces
}

// pieces are alternating texts and names; the first is a text.
type pieces []string

// parseTemplate reads a template. Its errors say what was expected.
func parseTemplate(s string) (*template, error) {
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed == "":
		return nil, errors.New(`must not be empty: expected JSON such as {"prompt": "${text}"}, or a form such as prompt=${text}`)
	case len(s) > maxTemplate:
		return nil, fmt.Errorf("must have at most %d bytes, not %d", maxTemplate, len(s))
	case !utf8.ValidString(s):
		return nil, errors.New("must be UTF-8")
	}
	if strings.ContainsRune(`{["`, rune(trimmed[0])) {
		// In valid JSON a $ is within a string.
		if err := json.Unmarshal([]byte(trimmed), new(any)); err != nil {
			return nil, fmt.Errorf(`must be JSON with ${…} inside of strings, such as {"prompt": "${text}"}: %w`, err)
		}
		all, err := parsePieces(trimmed)
		return &template{json: all}, err
	}
	t := new(template)
	for pair := range strings.SplitSeq(trimmed, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf(`%q must be name=value: expected a form such as prompt=${text}&user=${subject}, or JSON such as {"prompt": "${text}"}`, cut(pair))
		}
		f := field{}
		var err error
		if f.name, err = url.QueryUnescape(name); err != nil || strings.Contains(f.name, "${") {
			return nil, fmt.Errorf("%q cannot be the name of a form's field", cut(name))
		}
		if f.value, err = parsePieces(value); err != nil {
			return nil, err
		}
		for i := 0; i < len(f.value); i += 2 {
			if f.value[i], err = url.QueryUnescape(f.value[i]); err != nil {
				return nil, fmt.Errorf("the value of %q must be encoded as in URLs, with %%25 for %%: %w", cut(f.name), err)
			}
		}
		t.pairs = append(t.pairs, f)
	}
	return t, nil
}

// parsePieces splits at ${name}; $${ stands for a literal ${.
func parsePieces(s string) (pieces, error) {
	all := pieces{""}
	for {
		before, after, found := strings.Cut(s, "${")
		last := &all[len(all)-1]
		if !found {
			*last += before
			return all, nil
		}
		if strings.HasSuffix(before, "$") {
			*last += before + "{"
			s = after
			continue
		}
		*last += before
		name, rest, closed := strings.Cut(after, "}")
		if !closed || !slices.Contains(templateNames, name) {
			return nil, fmt.Errorf("${%s is not known: expected one of ${%s}, or $${ for ${ itself", cut(name)+strings.Repeat("}", len(after)-len(name)-len(rest)), strings.Join(templateNames, "}, ${"))
		}
		all = append(all, name, "")
		s = rest
	}
}

// fill joins the pieces, with values in place of the names.
func (p pieces) fill(value func(name string) string) string {
	var b strings.Builder
	for i, s := range p {
		if i%2 == 1 {
			s = value(s)
		}
		b.WriteString(s)
	}
	return b.String()
}

// media is the media type of the body.
func (t *template) media() string {
	if t.json == nil {
		return "application/x-www-form-urlencoded"
	}
	return "application/json"
}

// body returns the body for these values.
func (t *template) body(values map[string]string) []byte {
	if t.json != nil {
		return []byte(t.json.fill(func(name string) string {
			quoted := jsons.AppendString(nil, strings.ToValidUTF8(values[name], "\ufffd"))
			return string(quoted[1 : len(quoted)-1])
		}))
	}
	var pairs []string
	for _, f := range t.pairs {
		value := f.value.fill(func(name string) string { return values[name] })
		pairs = append(pairs, url.QueryEscape(f.name)+"="+url.QueryEscape(value))
	}
	return []byte(strings.Join(pairs, "&"))
}

// CheckBody reports what is wrong with Options.Body; nil if nothing is.
func CheckBody(s string) error {
	_, err := parseTemplate(s)
	return err
}
