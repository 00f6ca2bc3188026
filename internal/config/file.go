package config

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxBytes caps a file.
const MaxBytes = 1 << 20

// Options adjust how a file is read. A nil *Options means all defaults.
type Options struct {
	// Lookup finds environment variables. Nil finds none.
	Lookup func(string) (string, bool)
	// Check returns the error of a flag of parley serve for a value, which says what the value
	// must be. Nil accepts all values that the table accepts.
	Check func(flag, value string) error
	// Command returns why a command cannot run in a directory, perhaps with a PATH of its own.
	// Nil accepts all commands.
	Command func(name, dir string, ownPath bool) error
	// Given reports whether a flag is on the command line, and so may supply what the file
	// leaves out. Nil: no flag is.
	Given func(flag string) bool
	// Elsewhere checks a file for another machine: it does not look for the variables and files
	// that the file names. Do not run the result.
	Elsewhere bool
}

func (o *Options) lookup(name string) (string, bool) {
	if o.Lookup == nil {
		return "", false
	}
	return o.Lookup(name)
}

func (o *Options) given(flag string) bool { return o.Given != nil && o.Given(flag) }

// File is the content of a parley.yaml.
type File struct {
	Settings []Setting // in the order of the file
	Agents   []Agent   // in the order of the file; at most one is the Default

	tree *value
}

// Setting is the file's value of one flag of parley serve.
type Setting struct {
	Path   string // such as limits.rate
	Flag   string
	Yields []string // flags that, given on the command line, override it, too
	Line   int      // of the value
	Column int
	Values []string // the values to set the flag to, one after another
	Shown  []string // the same values in a form that may be shown, as in the file
	Source string   // "${env:X}" or a file's name, if the value came from there and may be secret
}

// Load reads a file. Its error is an *Error if the file could be read.
func Load(name string, o *Options) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, &os.PathError{Op: "read", Path: name, Err: errors.New("is a directory")}
	}
	doc, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return Parse(name, doc, o)
}

// Parse parses a file's text; name is for its errors, and paths in the file are relative to
// name's directory. Its error is an *Error with all mistakes.
func Parse(name string, doc []byte, o *Options) (*File, error) {
	r := &reader{dir: filepath.Dir(name), wrong: &Error{File: name}}
	if o != nil {
		r.options = *o
	}
	tree := r.document(doc)
	if tree == nil {
		return nil, r.wrong.result()
	}
	f := &File{tree: tree}
	r.rules(tree)
	f.Settings = r.settings(tree)
	if err := r.wrong.result(); err != nil {
		return nil, err
	}
	f.Agents = agents(tree, r.dir)
	return f, nil
}

// document reads the whole file; it returns nil if that is impossible.
func (r *reader) document(doc []byte) *value {
	doc = bytes.TrimPrefix(doc, []byte("\uFEFF"))
	if len(doc) > MaxBytes {
		r.wrong.add(0, 0, "", "is larger than %d MiB", MaxBytes>>20)
		return nil
	}
	line := 0
	for text := range bytes.Lines(doc) {
		line++
		if i := invalid(text); i >= 0 {
			r.wrong.add(line, i+1, "", "is not valid UTF-8 from here on")
			return nil
		}
	}
	var n yaml.Node
	if err := yaml.Load(doc, &n); err != nil {
		r.syntax(err)
		return nil
	}
	if len(n.Content) != 1 {
		r.wrong.add(0, 0, "", "is empty: it begins with version: 1")
		return nil
	}
	top := r.read(root, n.Content[0], "", 0)
	if top.bad && top.members == nil {
		return nil
	}
	return top
}

// syntax reports the errors of the YAML parser.
func (r *reader) syntax(err error) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		r.wrong.add(0, 0, "", "is not YAML: %v", err)
		return
	}
	message := strings.TrimPrefix(load.Message, "yaml: ")
	switch {
	case strings.Contains(message, "no documents"):
		r.wrong.add(0, 0, "", "is empty: it begins with version: 1")
	case strings.Contains(message, "found multiple"):
		r.wrong.add(0, 0, "", "has more than one document: leave out what begins with ---")
	case strings.Contains(message, "cannot start any token"):
		r.wrong.add(load.Mark.Line, load.Mark.Column, "", "is not YAML: %s (a tab? YAML is indented with spaces)", message)
	default:
		r.wrong.add(load.Mark.Line, load.Mark.Column, "", "is not YAML: %s", message)
	}
}

// invalid returns how many characters of a line precede the first invalid UTF-8, or -1 if there
// is none.
func invalid(line []byte) int {
	if utf8.Valid(line) {
		return -1
	}
	n := 0
	for len(line) > 0 {
		c, size := utf8.DecodeRune(line)
		if c == utf8.RuneError && size < 2 {
			break
		}
		line = line[size:]
		n++
	}
	return n
}

// settings checks the values whose rules a flag knows, and returns those of flags.
func (r *reader) settings(tree *value) (list []Setting) {
	for v := range tree.all() {
		f := v.field
		flag := cmp.Or(f.flag, f.like)
		if flag == "" || v.bad {
			continue
		}
		s := Setting{Path: v.path, Flag: flag, Yields: f.yields, Line: v.line, Column: v.column, Source: v.source}
		for _, part := range v.flagValues() {
			if part.at.bad {
				continue
			}
			s.Source = cmp.Or(part.at.source, s.Source)
			s.Values = append(s.Values, part.text)
			s.Shown = append(s.Shown, part.shown())
			r.check(flag, part)
		}
		if f.flag != "" && len(s.Values) > 0 {
			list = append(list, s)
		}
	}
	return list
}

// flagValue is one value of a flag, and its place in the file.
type flagValue struct {
	text string
	at   *value
}

// flagValues returns the values to set a flag to.
func (v *value) flagValues() (values []flagValue) {
	switch f := v.field; {
	case f.role:
		for _, m := range v.members {
			for _, scope := range m.value.items {
				values = append(values, flagValue{m.name + "=" + scope.text, scope})
			}
			if len(m.value.items) == 0 {
				values = append(values, flagValue{m.name + "=none", m.value})
			}
		}
	case f.kind == list:
		for _, item := range v.items {
			values = append(values, flagValue{item.text, item})
		}
		if len(v.items) == 0 && f.empty != "" {
			values = append(values, flagValue{f.empty, v})
		}
	case f.negate:
		values = append(values, flagValue{map[bool]string{true: "false", false: "true"}[v.yes()], v})
	default:
		values = append(values, flagValue{v.text, v})
	}
	return values
}

// shown returns the value in a form that may be shown.
func (p flagValue) shown() string {
	if p.at.source != "" {
		return p.at.shown(false)
	}
	if p.at.field.negate {
		return p.at.text
	}
	return p.text
}

// check checks a value with the flag.
func (r *reader) check(flag string, part flagValue) {
	if r.options.Check == nil || r.options.Elsewhere && part.at.source != "" {
		return
	}
	if err := r.options.Check(flag, part.text); err != nil {
		switch must := strings.HasPrefix(err.Error(), "must be "); { // other errors name the value
		case must:
			r.bad(part.at, "%v%s", err, part.at.butSays())
		case part.at.source != "":
			r.bad(part.at, "%s is not what --%s takes", part.at.source, flag)
		default:
			r.bad(part.at, "%v", err)
		}
	}
}
