package main

import (
	"fmt"
	"strings"
	"testing"
)

// readYAML reads the part of YAML that deploy/ is written in: maps and lists by
// indentation, lists in brackets, plain and quoted words, comments in lines of
// their own. It refuses the rest, tabs and keys that come twice, so what it takes
// every reader of YAML takes, and as the same.
func readYAML(t *testing.T, text string) any {
	t.Helper()
	r := &yamlReader{t: t}
	for n, l := range strings.Split(text, "\n") {
		words := strings.TrimLeft(l, " ")
		if words == "" || strings.HasPrefix(words, "#") {
			continue
		}
		if strings.ContainsAny(l, "\t\r") || strings.HasSuffix(l, " ") || strings.Contains(l, " #") {
			t.Fatalf("line %d: tabs, blanks at the end and comments behind something are not taken: %q", n+1, l)
		}
		r.lines = append(r.lines, yamlLine{n + 1, len(l) - len(words), words})
	}
	v := r.block(0)
	if len(r.lines) > 0 {
		t.Fatalf("line %d is not indented as those around it", r.lines[0].n)
	}
	return v
}

type yamlLine struct {
	n, indent int
	words     string
}

type yamlReader struct {
	t     *testing.T
	lines []yamlLine
}

// block reads the map or list of an indentation.
func (r *yamlReader) block(indent int) any {
	r.t.Helper()
	if strings.HasPrefix(r.lines[0].words, "- ") {
		return r.list(indent)
	}
	m := map[string]any{}
	for len(r.lines) > 0 && r.lines[0].indent == indent && !strings.HasPrefix(r.lines[0].words, "- ") {
		l := r.lines[0]
		key, value, ok := strings.Cut(l.words, ":")
		if !ok || value != "" && value[0] != ' ' || strings.ContainsAny(key, "\"'{}[]&*?!|>") {
			r.t.Fatalf("line %d is no key with a value: %q", l.n, l.words)
		}
		if _, twice := m[key]; twice {
			r.t.Fatalf("line %d: %s comes twice", l.n, key)
		}
		r.lines = r.lines[1:]
		switch value = strings.TrimSpace(value); {
		case value != "":
			m[key] = r.word(l.n, value)
		case len(r.lines) > 0 && r.lines[0].indent > indent:
			m[key] = r.block(r.lines[0].indent)
		default:
			m[key] = nil
		}
	}
	return m
}

func (r *yamlReader) list(indent int) (all []any) {
	r.t.Helper()
	for len(r.lines) > 0 && r.lines[0].indent == indent && strings.HasPrefix(r.lines[0].words, "- ") {
		l := &r.lines[0]
		item := strings.TrimPrefix(l.words, "- ")
		if key, value, ok := strings.Cut(item, ":"); ok && (value == "" || value[0] == ' ') && !strings.ContainsAny(key, "\"[") {
			l.indent, l.words = indent+2, item // a map, whose first line this is
			all = append(all, r.block(indent+2))
			continue
		}
		r.lines = r.lines[1:]
		all = append(all, r.word(l.n, item))
	}
	return all
}

// word reads a value of one line.
func (r *yamlReader) word(n int, s string) any {
	r.t.Helper()
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok {
			r.t.Fatalf("line %d: no ] at the end", n)
		}
		var all []any
		for item := range strings.SplitSeq(inner, ", ") {
			all = append(all, r.word(n, item))
		}
		return all
	}
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' && !strings.ContainsAny(s[1:len(s)-1], "\"\\") {
		return s[1 : len(s)-1]
	}
	if strings.ContainsAny(s[:1], "\"'{}&*!|>%@`#,?") || strings.Contains(s, ": ") {
		r.t.Fatalf("line %d: %s must be in quotes, or is not taken", n, s)
	}
	return s
}

// at is what is found by keys and places in lists.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			found, ok := m[step]
			if !ok {
				t.Fatalf("%v: there is no %s in %v", path, step, v)
			}
			v = found
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				t.Fatalf("%v: there is no item %d in %v", path, step, v)
			}
			v = l[step]
		}
	}
	return v
}

// wordsOf is a list of words.
func wordsOf(t *testing.T, v any) (words []string) {
	t.Helper()
	list, ok := v.([]any)
	if !ok {
		t.Fatalf("%v is no list", v)
	}
	for _, item := range list {
		words = append(words, fmt.Sprint(item))
	}
	return words
}
