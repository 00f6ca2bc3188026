package config

import (
	"bytes"
	"encoding/json"
	"strings"

	"go.yaml.in/yaml/v4"
)

// writer writes YAML, two spaces a level.
type writer struct{ strings.Builder }

func (w *writer) line(level int, text string) {
	w.WriteString(strings.Repeat("  ", level) + text + "\n")
}

func (w *writer) blank() { w.WriteByte('\n') }

// comment writes a sentence, wrapped to readable lines.
func (w *writer) comment(level int, text string) {
	line := "#"
	for word := range strings.FieldsSeq(sentence(text)) {
		if len(line)+len(word) > 96 {
			w.line(level, line)
			line = "#"
		}
		line += " " + word
	}
	w.line(level, line)
}

// item writes a value; commented says that comments follow below it, too.
func (w *writer) item(level int, it *item, commented bool) {
	switch {
	case it.text != "":
		w.line(level, it.name+": "+it.text)
	case it.list != nil:
		w.line(level, it.name+": ["+strings.Join(it.list, ", ")+"]")
	case it.each != nil:
		w.line(level, it.name+":")
		for _, one := range it.each {
			inner := new(writer)
			for _, c := range one {
				inner.item(level+2, c, false)
			}
			text := inner.String()
			at := 2 * (level + 2)
			w.WriteString(text[:at-2] + "- " + text[at:])
		}
	default:
		w.line(level, it.name+":")
		for _, c := range it.below {
			if commented && c.field.doc != "" {
				w.comment(level+1, c.field.about())
			}
			w.item(level+1, c, commented)
		}
	}
}

// scalar returns text as YAML that is valid within brackets, too: unquoted if that means the
// same.
func scalar(s string) string {
	var n yaml.Node
	if err := yaml.Load([]byte("["+s+"]"), &n); err == nil && len(s) < 200 && len(n.Content) == 1 {
		if in := n.Content[0].Content; len(in) == 1 && in[0].Kind == yaml.ScalarNode && in[0].ShortTag() == "!!str" && in[0].Value == s && in[0].Style == 0 {
			if in[0].HeadComment+in[0].LineComment+in[0].FootComment+in[0].Anchor == "" {
				return s
			}
		}
	}
	return jsonText(s)
}

// jsonText returns JSON, which is also YAML.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `""` // values read from YAML or JSON can be written
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
