package acts

import (
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

//go:embed corpus/*.yaml
var embedded embed.FS

// Builtin returns the corpus of this package.
func Builtin() (*Corpus, error) {
	dir, err := fs.Sub(embedded, "corpus")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(dir, "*.yaml")
	if err != nil {
		return nil, err
	}
	c := &Corpus{own: true}
	for _, name := range names {
		if err := c.add(dir, name, true, map[string]bool{}); err != nil {
			return nil, err
		}
	}
	shared := map[string][]*Step{} // its files share their fixtures
	for _, d := range c.Documents {
		maps.Copy(shared, d.Fixtures)
		d.Fixtures = shared
	}
	return c, c.check()
}

// Load returns the corpus of a file and of those that it includes, or of a folder: that of its
// suite.acts.yaml if there is one, otherwise of all its *.acts.yaml.
func Load(name string) (*Corpus, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, &FileError{name, 0, reason(err)}
	}
	dir, files := filepath.Dir(name), []string{filepath.Base(name)}
	if info.IsDir() {
		dir = name
		files, err = fs.Glob(os.DirFS(name), "*.acts.yaml")
		if err != nil {
			return nil, err
		}
		if slices.Contains(files, "suite.acts.yaml") {
			files = []string{"suite.acts.yaml"}
		}
		if len(files) == 0 {
			return nil, &FileError{name, 0, "there is no *.acts.yaml in it"}
		}
	}
	root, err := os.OpenRoot(dir) // an include cannot leave the folder
	if err != nil {
		return nil, &FileError{name, 0, reason(err)}
	}
	defer root.Close()
	c, seen := &Corpus{}, map[string]bool{}
	for _, file := range files {
		if err := c.add(root.FS(), file, false, seen); err != nil {
			return nil, err
		}
	}
	return c, c.check()
}

func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// add reads a file and those that it includes.
func (c *Corpus) add(dir fs.FS, name string, strict bool, seen map[string]bool) error {
	if seen[name] {
		return nil
	}
	seen[name] = true
	text, err := fs.ReadFile(dir, name)
	if err != nil {
		return &FileError{name, 0, reason(err)}
	}
	d, include, notes, err := Parse(name, text, strict)
	if err != nil {
		return err
	}
	c.Notes = append(c.Notes, notes...)
	if len(d.Suites)+len(d.Fixtures) > 0 {
		c.Documents = append(c.Documents, d)
	}
	for _, file := range include {
		if !fs.ValidPath(file) {
			return &FileError{name, 0, "include names " + file + ", which is not a file beside it"}
		}
		if err := c.add(dir, path.Join(path.Dir(name), file), strict, seen); err != nil {
			return err
		}
	}
	return nil
}

// check checks what no single file shows.
func (c *Corpus) check() error {
	seen := map[string]*Test{}
	for _, d := range c.Documents {
		for _, s := range d.Suites {
			for _, t := range s.Tests {
				if other := seen[t.ID]; other != nil {
					message := "test " + t.ID + " is in " + other.File + " as well"
					if c.own {
						return &FileError{t.File, t.Line, message}
					}
					c.Notes = append(c.Notes, Note{t.File, t.Line, message + ": both run"})
				}
				seen[t.ID] = t
				for _, name := range t.Given {
					if d.Fixtures[name] == nil {
						return &FileError{t.File, t.Line, "there is no fixture " + name}
					}
				}
			}
		}
	}
	return nil
}

// Parse reads one file; include are the files that it names. If strict, members that the format
// does not know are errors.
func Parse(name string, text []byte, strict bool) (d *Document, include []string, notes []Note, err error) {
	p := &parser{file: name, strict: strict}
	defer func() {
		if r := recover(); r != nil {
			wrong, ok := r.(*FileError)
			if !ok {
				panic(r)
			}
			d, include, notes, err = nil, nil, nil, wrong
		}
	}()
	if len(text) > maxFile {
		return nil, nil, nil, &FileError{name, 0, "it is larger than 8 MiB"}
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		line, message := syntax(err)
		return nil, nil, nil, &FileError{name, line, message}
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		return nil, nil, nil, &FileError{name, 0, "it is empty"}
	}
	p.value(root.Content[0], 0) // limits, aliases, repeated names
	d, include = p.document(root.Content[0])
	return d, include, p.notes, nil
}

func (p *parser) document(n *yaml.Node) (*Document, []string) {
	m := p.object(n, "the document")
	p.rest(m, "the document", "acts_version", "spec_version", "spec_ref", "metadata", "variables", "include", "suites", "fixtures")
	d := &Document{Variables: map[string]string{}, Fixtures: map[string][]*Step{}}
	acts := p.need(n, m, "the document", "acts_version")
	version := p.text(p.need(n, m, "the document", "spec_version"), "spec_version")
	if v := p.text(acts, "acts_version"); v != "1" && !strings.HasPrefix(v, "1.") && !strings.HasPrefix(v, "0.") {
		p.fail(acts, "acts_version is %q: this runner reads 1.x", v)
	}
	if v, ok := m["variables"]; ok {
		for name, value := range p.object(v.value, "variables") {
			d.Variables[name] = p.text(value.value, "variables."+name)
		}
	}
	if v, ok := m["fixtures"]; ok {
		for name, list := range p.object(v.value, "fixtures") {
			d.Fixtures[name] = p.steps(list.value, "fixture "+name)
		}
	}
	var include []string
	if v, ok := m["include"]; ok {
		include = p.words(v.value, "include")
	}
	suites, ok := m["suites"]
	if !ok && len(include)+len(d.Fixtures) == 0 {
		p.fail(n, "the document has neither suites nor include")
	}
	if ok {
		for _, s := range p.list(suites.value, "suites") {
			d.Suites = append(d.Suites, p.suite(s, version))
		}
	}
	return d, include
}

func (p *parser) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		p.fail(n, "%s must be a list that is not empty", what)
	}
	return n.Content
}

func (p *parser) suite(n *yaml.Node, version string) *Suite {
	m := p.object(n, "a suite")
	p.rest(m, "a suite", "id", "name", "description", "tags", "tests")
	s := &Suite{ID: p.text(p.need(n, m, "a suite", "id"), "the suite's id"), Name: p.text(p.need(n, m, "a suite", "name"), "the suite's name")}
	for _, c := range p.list(p.need(n, m, "suite "+s.ID, "tests"), "tests") {
		s.Tests = append(s.Tests, p.test(c, version))
	}
	return s
}

func (p *parser) test(n *yaml.Node, version string) *Test {
	m := p.object(n, "a test")
	t := &Test{File: p.file, Line: n.Line, Versions: []string{version}}
	t.ID = p.text(p.need(n, m, "a test", "id"), "a test's id")
	what := "test " + t.ID
	p.rest(m, what, "id", "name", "description", "spec_ref", "level", "tags", "transport", "preconditions", "requires_behaviors",
		"origin", "runner_requirements", "steps", "assertions", "versions", "given", "observe")
	take(m, what, "name", p.text, &t.Name)
	take(m, what, "spec_ref", p.text, &t.Ref)
	take(m, what, "requires_behaviors", p.words, &t.Behaviors)
	take(m, what, "runner_requirements", p.words, &t.Needs)
	take(m, what, "versions", p.words, &t.Versions)
	take(m, what, "given", p.words, &t.Given)
	take(m, what, "observe", p.words, &t.Observe)
	for _, name := range t.Observe {
		if !slices.Contains(checks, name) {
			p.fail(m["observe"].value, "%s: there is no check %q", what, name)
		}
	}
	t.Level = Level(p.one(string(Must), string(Should), string(May))(p.need(n, m, what, "level"), what+": level"))
	take(m, what, "transport", p.bindings, &t.Bindings)
	if v, ok := m["preconditions"]; ok {
		p.preconditions(v.value, t)
	}
	if v, ok := m["steps"]; ok {
		t.Steps = p.steps(v.value, what)
	} else if len(t.Observe) == 0 {
		p.fail(n, "%s has no steps", what)
	}
	t.Assertions = p.assertions(m["assertions"].value, what)
	return t
}

func (p *parser) bindings(n *yaml.Node, what string) (list []string) {
	for _, c := range p.list(n, what) {
		list = append(list, p.one(JSONRPC, REST, GRPC)(c, what))
	}
	return list
}

func (p *parser) preconditions(n *yaml.Node, t *Test) {
	what := "test " + t.ID + ": preconditions"
	m := p.object(n, what)
	p.rest(m, what, "capabilities", "skills", "transport", "extensions", "description")
	take(m, what, "capabilities", p.values, &t.Capabilities)
	take(m, what, "extensions", p.words, &t.Extensions)
	if v, ok := m["transport"]; ok {
		t.Bindings = append(t.Bindings, p.bindings(v.value, what+": transport")...)
	}
	if v, ok := m["skills"]; ok {
		for _, s := range p.list(v.value, what+": skills") {
			id := p.need(s, p.object(s, what+": skills"), what+": a skill", "id")
			t.Skills = append(t.Skills, p.text(id, what+": skills"))
		}
	}
}

// millis reads a time in milliseconds.
func (p *parser) millis(n *yaml.Node, what string) time.Duration {
	return time.Duration(p.number(n, what)) * time.Millisecond
}

// syntax returns the line and the text of a YAML parser's error.
func syntax(err error) (int, string) {
	var load *yaml.LoadError
	if errors.As(err, &load) {
		return load.Mark.Line, load.Message
	}
	return 0, strings.TrimPrefix(err.Error(), "yaml: ")
}
