package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Limits on the size of a document after its aliases are expanded.
const (
	maxDepth = 32      // levels
	maxNodes = 100_000 // values, counted again for each alias
)

// reader checks a document against the table.
type reader struct {
	options Options
	dir     string // the directory that paths are relative to
	nodes   int
	wrong   *Error // what was found
}

// enter counts a node; false says that it must not be read. For an alias it counts and returns
// its target, too.
func (r *reader) enter(n *yaml.Node, path string, depth int) (*yaml.Node, bool) {
	if !r.count(n, path, 1) {
		return n, false
	}
	if depth > maxDepth {
		r.wrong.add(n.Line, n.Column, path, "there are more than %d levels", maxDepth)
		return n, false
	}
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n, true
}

// count counts more values at a node, and reports whether they are within the limit.
func (r *reader) count(n *yaml.Node, path string, more int) bool {
	before := r.nodes
	r.nodes += more
	if before <= maxNodes && r.nodes > maxNodes {
		r.wrong.add(n.Line, n.Column, path, "there are more than %d values, those behind aliases counted each time", maxNodes)
	}
	return r.nodes <= maxNodes
}

// read reads the value n of a field.
func (r *reader) read(f *field, n *yaml.Node, path string, depth int) *value {
	v := &value{field: f, path: path, line: n.Line, column: n.Column}
	n, ok := r.enter(n, path, depth)
	if !ok {
		v.bad = true
		return v
	}
	switch f.kind {
	case object, dict:
		r.readMap(v, n, depth)
	case list:
		if n.Kind != yaml.SequenceNode {
			r.mistyped(v, n)
			break
		}
		for i, c := range n.Content {
			v.items = append(v.items, r.read(f.elem, c, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
		if f.need && len(v.items) == 0 {
			r.bad(v, "must not be empty")
		}
	case anything:
		v.parsed = r.anything(v, n, depth)
	default:
		if n.Kind != yaml.ScalarNode {
			r.mistyped(v, n)
			break
		}
		r.scalar(v, n)
	}
	return v
}

// bad reports a problem with a value.
func (r *reader) bad(v *value, format string, args ...any) {
	v.bad = true
	r.wrong.add(v.line, v.column, v.path, format, args...)
}

// mistyped reports a value of the wrong type.
func (r *reader) mistyped(v *value, n *yaml.Node) {
	r.bad(v, "must be %s%s", v.field.expected(), butIs(n))
}

// butIs describes the actual node.
func butIs(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return ", not a mapping"
	case n.Kind == yaml.SequenceNode:
		return ", not a list"
	case n.ShortTag() == "!!null":
		return ": it has no value"
	}
	return ", not " + cut(n.Value)
}

// cut shortens a value for a message.
func cut(s string) string { return cutAt(s, 40) }

func cutAt(s string, most int) string {
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// readMap reads an object or a dict.
func (r *reader) readMap(v *value, n *yaml.Node, depth int) {
	if n.Kind != yaml.MappingNode {
		r.mistyped(v, n)
		return
	}
	var meant []string // names that were probably meant: do not report them as missing
	for _, p := range r.pairs(n, v.path, depth) {
		name := p.key.Value
		f, fromFile := v.field.elem, false
		if v.field.kind == object {
			if f, fromFile = v.field.find(name); f == nil {
				if v.path == "" && strings.HasPrefix(name, "x-") {
					continue // the place for anchors that are used elsewhere
				}
				meant = append(meant, r.unknown(v, p.key))
				continue
			}
		}
		m := &member{name: name, line: p.key.Line, column: p.key.Column}
		below := join(v.path, name)
		switch {
		case fromFile:
			m.name = f.name
			m.value = r.readBeside(f, p.value, below, depth+1)
		default:
			m.value = r.read(f, p.value, below, depth+1)
		}
		if earlier := v.member(m.name); earlier != nil { // x and x_file
			r.wrong.add(m.line, m.column, below, "%s and %s%s exclude each other: leave one out", m.name, m.name, fileSuffix)
			continue
		}
		v.members = append(v.members, m)
	}
	for _, f := range v.field.fields {
		if f.need && v.member(f.name) == nil && !slices.Contains(meant, f.name) && (f.flag == "" || !r.options.given(f.flag)) {
			v.bad = true
			r.wrong.add(v.line, v.column, join(v.path, f.name), "is missing: %s", f.doc)
		}
	}
	for _, name := range meant { // so that rules treat it as set
		if name != "" && v.member(name) == nil {
			v.members = append(v.members, &member{name: name, value: &value{field: v.field.child(name), path: join(v.path, name), bad: true}})
		}
	}
}

// find returns the field of an object with this name, or the one whose value is in a file that
// this name sets.
func (f *field) find(name string) (c *field, fromFile bool) {
	if c = f.child(name); c != nil {
		return c, false
	}
	if plain, ok := strings.CutSuffix(name, fileSuffix); ok {
		if c = f.child(plain); c != nil && c.besideFile() {
			return c, true
		}
	}
	return nil, false
}

// join returns the path of a name below path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// unknown reports an unknown name in an object, and returns the name that was probably meant.
func (r *reader) unknown(v *value, key *yaml.Node) string {
	if r.wrong.full() {
		return "" // the report is not shown
	}
	name := Similar(key.Value, v.field.names())
	elsewhere := ""
	if name == "" {
		elsewhere = whereIs(key.Value, v.path)
	}
	switch {
	case name != "":
		r.wrong.add(key.Line, key.Column, join(v.path, key.Value), "there is no such setting: did you mean %s?", name)
	case elsewhere != "":
		r.wrong.add(key.Line, key.Column, join(v.path, key.Value), "there is no such setting here: did you mean %s?", elsewhere)
	default:
		r.wrong.add(key.Line, key.Column, join(v.path, key.Value), "there is no such setting; there are %s", strings.Join(v.field.names(), ", "))
	}
	return strings.TrimSuffix(name, fileSuffix)
}

// whereIs returns the place at which a name is a setting, or the setting of the flag with that
// name; "" if there is none.
func whereIs(name, from string) (found string) {
	name = plain(name)
	visit := func(f *field, at string) {
		if found == "" && (plain(f.name) == name || f.flag != "" && plain(f.flag) == name) {
			found = at
		}
	}
	if rest, in := strings.CutPrefix(from, "agents."); in {
		agent, _, _ := strings.Cut(rest, ".")
		walk(agentFields, "agents."+agent, visit)
	}
	walk(root.fields, "", visit)
	return found
}

// walk visits all fields of objects below a path.
func walk(fields []*field, path string, visit func(f *field, path string)) {
	for _, f := range fields {
		at := join(path, f.name)
		visit(f, at)
		walk(f.fields, at, visit)
	}
}

// pair is a key and its value in a mapping.
type pair struct{ key, value *yaml.Node }

// pairs returns the members of a mapping, including merged ones, without repeated ones. The
// depth limit ends a mapping that merges itself.
func (r *reader) pairs(n *yaml.Node, path string, depth int) (list []pair) {
	lines := map[string]int{}
	var merged []*yaml.Node
	if !r.count(n, path, len(n.Content)/2) {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.ShortTag() == "!!merge":
			merged = append(merged, val)
			continue
		case key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" || len(key.Value) > 256:
			r.wrong.add(key.Line, key.Column, path, "a name must be text")
			continue
		}
		if line, twice := lines[key.Value]; twice {
			r.wrong.add(key.Line, key.Column, join(path, key.Value), "comes twice: it is in line %d, too", line)
			continue
		}
		lines[key.Value] = key.Line
		list = append(list, pair{key, val})
	}
	for _, m := range merged {
		sources := []*yaml.Node{m}
		if m.Kind == yaml.SequenceNode {
			sources = m.Content
		}
		for _, s := range sources {
			behind, ok := r.enter(s, path, depth)
			if !ok || behind.Kind != yaml.MappingNode {
				if ok {
					r.wrong.add(s.Line, s.Column, path, "<< takes a mapping, or a list of them: <<: *name")
				}
				continue
			}
			for _, p := range r.pairs(behind, path, depth+1) {
				if _, here := lines[p.key.Value]; !here { // a member of the mapping itself takes precedence
					lines[p.key.Value] = p.key.Line
					list = append(list, p)
				}
			}
		}
	}
	return list
}

// anything reads a value whose meaning Parley does not know, as JSON.
func (r *reader) anything(v *value, n *yaml.Node, depth int) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for _, p := range r.pairs(n, v.path, depth) {
			below := &value{field: v.field, path: join(v.path, p.key.Value), line: p.value.Line, column: p.value.Column}
			if c, ok := r.enter(p.value, below.path, depth+1); ok {
				m[p.key.Value] = r.anything(below, c, depth+1)
			}
			v.takeFrom(below)
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for i, c := range n.Content {
			below := &value{field: v.field, path: fmt.Sprintf("%s[%d]", v.path, i), line: c.Line, column: c.Column}
			if c, ok := r.enter(c, below.path, depth+1); ok {
				list = append(list, r.anything(below, c, depth+1))
			}
			v.takeFrom(below)
		}
		return list
	}
	return r.plainValue(v, n)
}

// takeFrom copies the flags of a part to the whole.
func (v *value) takeFrom(part *value) {
	v.bad = v.bad || part.bad
	if part.source != "" {
		v.source, v.written = part.source, part.written
		v.parts = append(v.parts, part.parts...)
	}
}

// resolve resolves a path of the file, relative to the file's directory.
func (r *reader) resolve(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(r.dir, name)
}
