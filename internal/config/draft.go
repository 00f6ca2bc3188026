package config

import (
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/a2a"
)

// Draft is a file to be written, with these values; other settings appear as comments.
type Draft struct {
	// Settings are values of flags, by their names, in the order of the command line.
	Settings map[string][]string
	// Agents are written as they are; a Secret is text for the file, ${env:NAME}.
	Agents []Agent
	// Dir is the directory for the file. Paths in the draft are relative to the process's
	// directory, and are written relative to Dir. Empty: the process's directory.
	Dir string
}

// path converts a path to the file's form.
func (d *Draft) path(name string) string {
	if d.Dir == "" || name == "" || filepath.IsAbs(name) {
		return name
	}
	if rel, err := filepath.Rel(d.Dir, name); err == nil {
		return filepath.ToSlash(rel)
	}
	return name
}

// isPath reports whether a value is a path.
func (f *field) isPath(value string) bool {
	switch f.kind {
	case file:
		return true
	case path:
		return f.flag != "audit-log" || value != "-" && value != "none"
	}
	return f.flag == "store" && value != "memory" && !strings.Contains(value, "://") && !strings.Contains(value, "${")
}

// YAML returns the file, with comments for common settings that are not set.
func (d *Draft) YAML() []byte {
	w := new(writer)
	w.line(0, "# What parley serve serves. All settings are in docs/config.md; parley config validate says what is wrong.")
	w.line(0, "# Editors know the settings after: parley config schema > parley.schema.json")
	w.line(0, "# and the line: # yaml-language-server: $schema=parley.schema.json")
	w.line(0, "version: 1")
	said := 0
	for _, f := range serverFields {
		if it := d.setting(f, f.name); it != nil {
			said++
			w.blank()
			w.comment(0, it.field.about())
			w.item(0, it, true)
		}
	}
	if said == 0 {
		w.blank()
		w.line(0, "# To let others than this machine's users call, say who may:")
		w.line(0, "# listen: :7275")
		w.line(0, "# auth: {keys: true}  # callers with a key: parley key create")
		w.line(0, "# public_url: https://agents.example.org")
	}
	w.blank()
	w.comment(0, "Agents by their names, each at /agents/NAME; the default one is at / as well")
	w.line(0, "agents:")
	for i := range d.Agents {
		if i > 0 {
			w.blank()
		}
		d.agent(w, &d.Agents[i])
	}
	return []byte(w.String())
}

// item is a value to be written, with its text as YAML.
type item struct {
	name  string
	field *field
	text  string
	list  []string  // of a list on one line
	below []*item   // of a mapping
	each  [][]*item // of a list of mappings
}

// setting returns the item for a field of the server and those below it, from the flags; nil if
// no flag sets any.
func (d *Draft) setting(f *field, path string) *item {
	it := &item{name: f.name, field: f}
	if f.kind == object {
		for _, c := range f.fields {
			if b := d.setting(c, join(path, c.name)); b != nil {
				it.below = append(it.below, b)
			}
		}
		if len(it.below) == 0 {
			return nil
		}
		return it
	}
	values := d.Settings[f.flag]
	if len(values) == 0 {
		return nil
	}
	for i, v := range values {
		if f.isPath(v) || f.kind == list && f.elem.kind == file {
			values = slices.Clone(values)
			values[i] = d.path(v)
		}
	}
	last := values[len(values)-1]
	switch {
	case f.role:
		for _, v := range values {
			role, scopes, _ := strings.Cut(v, "=")
			at := slices.IndexFunc(it.below, func(b *item) bool { return b.name == scalar(role) })
			if at < 0 {
				at = len(it.below)
				it.below = append(it.below, &item{name: scalar(role), field: f.elem})
			}
			for scope := range strings.SplitSeq(scopes, ",") {
				it.below[at].list = append(it.below[at].list, scalar(scope))
			}
		}
	case f.kind == list:
		it.list = []string{}
		for _, v := range values {
			if v != f.empty {
				it.list = append(it.list, scalar(v))
			}
		}
	case f.negate:
		it.text = strconv.FormatBool(last != "true")
	case f.kind == boolean, f.kind == integer, f.kind == number:
		it.text = last
	default:
		it.text = scalar(last)
	}
	return it
}

// made returns the item for a Go value; nil if it is zero, and so left out.
func (d *Draft) made(f *field, v reflect.Value) *item {
	it := &item{name: f.name, field: f}
	if v.IsZero() || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0 {
		return nil
	}
	if v.Kind() == reflect.Pointer {
		if v = v.Elem(); f.kind == boolean || f.kind == number {
			it.text = plainText(v)
			return it
		}
	}
	switch f.kind {
	case object:
		it.below = d.members(f.fields, v)
	case dict:
		for _, k := range v.MapKeys() {
			it.below = append(it.below, &item{name: scalar(k.String()), field: f.elem, text: plainText(v.MapIndex(k))})
		}
		slices.SortFunc(it.below, func(a, b *item) int { return strings.Compare(a.name, b.name) })
	case list:
		for i := range v.Len() {
			if f.elem.kind == object {
				it.each = append(it.each, d.members(f.elem.fields, v.Index(i)))
				continue
			}
			if f.elem.kind == file {
				it.list = append(it.list, scalar(d.path(v.Index(i).String())))
				continue
			}
			it.list = append(it.list, plainText(v.Index(i)))
		}
	case path, file:
		it.text = scalar(d.path(v.String()))
	case text:
		if it.text = plainText(v); f.asIs {
			it.text = scalar(v.String())
		}
	default:
		it.text = plainText(v)
	}
	return it
}

func (d *Draft) members(fields []*field, v reflect.Value) (list []*item) {
	for _, f := range fields {
		if it := d.made(f, fieldOf(v, f.name)); it != nil {
			list = append(list, it)
		}
	}
	return list
}

// plainText formats a value on one line.
func plainText(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Duration:
		return x.String()
	case a2a.Secret:
		return scalar(x.Reveal())
	case string:
		return scalar(strings.ReplaceAll(x, "${", "$${"))
	case bool:
		return strconv.FormatBool(x)
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	if v.CanInt() {
		return strconv.FormatInt(v.Int(), 10)
	}
	return jsonText(v.Interface())
}

// agent writes an agent, with comments for common settings of its kind.
func (d *Draft) agent(w *writer, a *Agent) {
	w.line(1, a.Name+":")
	if a.Default {
		w.line(2, "default: true")
	}
	v := reflect.ValueOf(a).Elem()
	for _, f := range agentFields {
		if f.name == "card" || f.name == "default" {
			continue
		}
		it := d.made(f, fieldOf(v, f.name))
		if it == nil {
			continue
		}
		if f.kind == object {
			w.comment(2, f.doc)
		}
		w.item(2, it, false)
		for _, name := range wanted[f.name] {
			if c := f.child(name); !slices.ContainsFunc(it.below, func(b *item) bool { return b.name == name }) {
				w.line(3, "# "+name+": "+c.example()+"  # "+c.doc)
			}
		}
	}
	w.comment(2, "What its card says")
	card, off := d.made(agentCard, reflect.ValueOf(&a.Card).Elem()), ""
	if card == nil { // a mapping with only comments would be empty
		card, off = &item{}, "# "
	}
	w.line(2, off+"card:")
	for _, it := range card.below {
		w.item(3, it, false)
	}
	suggest := func(text string) {
		if off != "" {
			w.line(2, off+"  "+text)
			return
		}
		w.line(3, "# "+text)
	}
	for _, name := range []string{"name", "description", "skills"} {
		switch f := agentCard.child(name); {
		case slices.ContainsFunc(card.below, func(b *item) bool { return b.name == name }):
		case name == "skills":
			for _, line := range skillExample {
				suggest(line)
			}
		default:
			suggest(name + ": " + f.example() + "  # " + f.doc)
		}
	}
}

var skillExample = []string{
	"skills:  # what it can do, for those who choose an agent", "  - id: answer", "    name: Answer questions", "    description: Answers questions about the handbook.",
	"    tags: [handbook]", "    examples: [How many days of leave do I have?]",
}

var agentCard = group("card", "", cardFields...)

// wanted are the settings of each kind that are written as comments.
var wanted = map[string][]string{
	"exec":   {"mode", "timeout", "concurrency", "files", "env"},
	"http":   {"headers", "timeout"},
	"openai": {"api_key", "system_file", "images", "tools"},
	"proxy":  {"bearer", "version", "verify"},
	"mcp":    {"tools", "timeout"},
}

// example returns an example value, to show the notation.
func (f *field) example() string {
	if e, ok := examples[f.name]; ok {
		return e
	}
	switch f.kind {
	case boolean:
		return "true"
	case secret:
		return "${env:" + strings.ToUpper(f.name) + "}"
	case list:
		if f.elem.kind == object {
			return "[{name: files, command: [mcp-server-files, .]}]"
		}
		return "[name]"
	}
	return strings.TrimSuffix(f.def, "*")
}

var examples = map[string]string{
	"mode": "lines", "timeout": "5m", "concurrency": "4", "env": "{TOKEN: \"${env:TOKEN}\"}", "headers": "{Authorization: \"Bearer ${env:TOKEN}\"}",
	"system_file": "prompt.md", "version": "\"0.3\"", "verify": "[keys.json]", "name": "Answers", "description": "Answers questions about the handbook.",
}
