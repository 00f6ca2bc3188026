package acts

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Limits on the size of a document after its aliases are expanded.
const (
	maxDepth = 64
	maxNodes = 200_000
	maxFile  = 8 << 20
)

// FileError is a mistake in a file.
type FileError struct {
	File    string
	Line    int // from 1; 0: the file as a whole
	Message string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// parser reads one file. It stops at the first mistake, by a panic with a *FileError.
type parser struct {
	file   string
	strict bool // unknown members are mistakes, not notes
	nodes  int
	notes  []Note
}

func (p *parser) fail(n *yaml.Node, format string, args ...any) {
	panic(&FileError{p.file, n.Line, fmt.Sprintf(format, args...)})
}

// odd reports a part of a file that the format does not know.
func (p *parser) odd(n *yaml.Node, format string, args ...any) {
	if p.strict {
		p.fail(n, format, args...)
	}
	p.notes = append(p.notes, Note{p.file, n.Line, fmt.Sprintf(format, args...)})
}

// member is a member of an object.
type member struct {
	key   *yaml.Node
	value *yaml.Node
}

// take reads a member, if present, with one of p's methods.
func take[T any](m map[string]member, what, name string, read func(n *yaml.Node, what string) T, to *T) {
	if v, ok := m[name]; ok {
		*to = read(v.value, what+": "+name)
	}
}

// need returns a required member of a map.
func (p *parser) need(n *yaml.Node, m map[string]member, what, name string) *yaml.Node {
	v, ok := m[name]
	if !ok {
		p.fail(n, "%s has no %s", what, name)
	}
	return v.value
}

// object returns the members of a map, each once.
func (p *parser) object(n *yaml.Node, what string) map[string]member {
	if n.Kind != yaml.MappingNode {
		p.fail(n, "%s must be a map", what)
	}
	m := make(map[string]member, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			p.fail(k, "%s: a name must be a word", what)
		}
		if _, twice := m[k.Value]; twice {
			p.fail(k, "%s has %q twice", what, k.Value)
		}
		m[k.Value] = member{k, v}
	}
	return m
}

// rest reports the unknown members of an object.
func (p *parser) rest(m map[string]member, what string, known ...string) {
	var names []string
	for name := range m {
		if !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		p.odd(m[name].key, "%s has %q, which the format does not know: it is not looked at", what, name)
	}
}

func (p *parser) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		p.fail(n, "%s must be text", what)
	}
	return n.Value
}

func (p *parser) words(n *yaml.Node, what string) []string {
	if n.Kind != yaml.SequenceNode {
		p.fail(n, "%s must be a list", what)
	}
	list := make([]string, 0, len(n.Content))
	for _, c := range n.Content {
		list = append(list, p.text(c, what))
	}
	return list
}

func (p *parser) number(n *yaml.Node, what string) int {
	i, err := strconv.Atoi(p.text(n, what))
	if err != nil || i < 0 || i > math.MaxInt32 {
		p.fail(n, "%s must be a number from 0 up", what)
	}
	return i
}

func (p *parser) truth(n *yaml.Node, what string) bool {
	v, ok := p.value(n, 0).(bool)
	if !ok {
		p.fail(n, "%s must be true or false", what)
	}
	return v
}

func (p *parser) any(n *yaml.Node, _ string) any { return p.value(n, 0) }

// one returns a function that reads a word from a list.
func (p *parser) one(of ...string) func(n *yaml.Node, what string) string {
	return func(n *yaml.Node, what string) string {
		s := p.text(n, what)
		if !slices.Contains(of, s) {
			p.fail(n, "%s is %q: it must be one of %s", what, s, strings.Join(of, ", "))
		}
		return s
	}
}

// values returns a map of any values.
func (p *parser) values(n *yaml.Node, what string) map[string]any {
	v, ok := p.value(n, 0).(map[string]any)
	if !ok {
		p.fail(n, "%s must be a map", what)
	}
	return v
}

// value converts a node to JSON types: nil, bool, float64, string, []any, map[string]any.
func (p *parser) value(n *yaml.Node, depth int) any {
	if p.nodes++; p.nodes > maxNodes || depth > maxDepth {
		p.fail(n, "the file is too large or too deep")
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for name, v := range p.object(n, "a map") {
			m[name] = p.value(v.value, depth+1)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			list = append(list, p.value(c, depth+1))
		}
		return list
	case yaml.ScalarNode:
		switch n.Tag {
		case "!!null":
			return nil
		case "!!bool":
			return strings.EqualFold(n.Value, "true")
		case "!!int", "!!float":
			f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
			if err != nil {
				p.fail(n, "%q is not a number", n.Value)
			}
			return f
		}
		return n.Value
	}
	p.fail(n, "aliases are not read")
	return nil
}
