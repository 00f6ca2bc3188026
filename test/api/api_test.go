package api_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/test/api"
)

var (
	update = flag.Bool("update", false, "add what is new to the list")
	exact  = flag.Bool("exact", false, "fail if something new is not in the list, as before a release")
)

const module = "github.com/parley-a2a/parley"

// public are the packages that programs import.
func public(t *testing.T) (list []string) {
	t.Helper()
	for _, dir := range []string{"", "a2a", "a2aclient", "a2aserver", "agent/...", "auth", "engine", "store/..."} {
		list = append(list, strings.TrimSuffix(module+"/"+dir, "/"))
	}
	return list
}

func TestProgramsKeepCompiling(t *testing.T) {
	features, err := api.Go("../..", public(t)...)
	if err != nil {
		t.Fatal(err)
	}
	if len(features) < 1000 {
		t.Fatalf("only %d features were found", len(features))
	}
	api.Hold(t, ".", "go.txt", features, *update, *exact)
}

// Each kind of feature is told apart, and a change of it is seen.
func TestChangesAreSeen(t *testing.T) {
	const before = `package p

import "io"

const C = 1
type S struct { A int; B func(x int) error; inner; io.Reader; hidden int }
type inner struct { D string }
func (s *S) M(a, b int) (n int, err error) { return }
func (S) V() {}
type I interface { Do(x int) string; Undo() }
type Sealed interface { Do(); seal() }
type L []string
type A = map[string]S
func F(w io.Writer, opts ...string) func(int) { return nil }
func G[T any](t T) T { return t }
var X io.Reader
`
	now := load(t, before)
	for _, want := range []string{
		"const C untyped int", "type S struct, A int", "type S struct, B func(int) error", "type S struct, D string", "type S struct, embedded io.Reader",
		"method (*S) M(int, int) (int, error)", "method (S) V()", "type I interface { Do, Undo }", "type I interface, Do(int) string", "type Sealed interface, unexported methods",
		"type L []string", "type A = map[string]S", "func F(io.Writer, ...string) func(int)", "func G[T any](t T) T", "var X io.Reader",
	} {
		if !slices.Contains(now, "pkg example.org/p, "+want) {
			t.Errorf("no %q in\n%s", want, strings.Join(now, "\n"))
		}
	}
	for name, change := range map[string]struct {
		old, new string
		gone     int
	}{
		"a renamed parameter":             {"M(a, b int)", "M(c, d int)", 0},
		"a new field":                     {"A int;", "A int; E int;", 0},
		"a new function":                  {"var X", "func H() {}\nvar X", 0},
		"a new method of a sealed one":    {"seal() }", "seal(); More() }", 0},
		"a new method of an interface":    {"Undo() }", "Undo(); Redo() }", 1},
		"a removed field":                 {"A int;", "", 1},
		"a changed parameter":             {"opts ...string", "opts []string", 1},
		"a changed function in a struct":  {"B func(x int) error", "B func(x int64) error", 1},
		"a method that now wants pointer": {"(S) V()", "(s *S) V()", 1},
		"a removed constant":              {"const C = 1", "", 1},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, api.Exceptions), "")
		if err := api.Update(dir, "go.txt", now); err != nil {
			t.Fatal(err)
		}
		gone, _, err := api.Check(dir, "go.txt", load(t, strings.Replace(before, change.old, change.new, 1)))
		if err != nil || len(gone) != change.gone {
			t.Errorf("%s: %v, gone: %q", name, err, gone)
		}
	}
}

func load(t *testing.T, source string) []string {
	t.Helper()
	other := typed(t, "io", "package io\ntype (Reader interface{ Read([]byte) (int, error) }; Writer interface{ Write([]byte) (int, error) })", nil)
	return api.Package(typed(t, "example.org/p", source, imports{"io": other}))
}

type imports map[string]*types.Package

func (i imports) Import(path string) (*types.Package, error) { return i[path], nil }

func typed(t *testing.T, path, source string, from types.Importer) *types.Package {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p, err := (&types.Config{Importer: from}).Check(path, files, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Only an exception takes a promise back: updating does not.
func TestUpdateKeepsWhatIsGone(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "l.txt"), "a\nb\nc\n")
	write(t, filepath.Join(dir, api.Exceptions), "# reasons\nc # 2.0: nobody used it\n")
	if err := api.Update(dir, "l.txt", []string{"a", "d"}); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "l.txt")); string(b) != "a\nb\nd\n" {
		t.Errorf("got %q", b)
	}
	gone, added, err := api.Check(dir, "l.txt", []string{"a", "d", "e"})
	if err != nil || !slices.Equal(gone, []string{"b"}) || !slices.Equal(added, []string{"e"}) {
		t.Errorf("gone %q, added %q, %v", gone, added, err)
	}
}
