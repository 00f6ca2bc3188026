package parley

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/parley-a2a/parley"

// may says what each package may import from this module: the arrows of the
// house. Tests may import more (they join parts to judge them).
var may = map[string][]string{
	".":                       {"*"},
	"a2a":                     {"internal/jsonscan"},
	"a2aclient":               {"a2a", "internal/wire", "internal/dialect", "internal/webhook"},
	"a2aserver":               {"a2a", "internal/wire", "internal/dialect", "internal/egress", "internal/queue", "internal/webhook"},
	"agent":                   {"a2a", "internal/jsonscan", "internal/queue"},
	"agent/httpagent":         {"a2a", "agent", "internal/jsonscan", "internal/queue", "internal/wire"},
	"agent/mcp":               {"a2a", "agent", "internal/queue"},
	"agent/openai":            {"a2a", "agent", "internal/wire"},
	"agent/openai/openaitest": {}, // for tests
	"agent/proxy":             {"a2a", "agent", "a2aclient"},
	"auth":                    {"a2a"},
	"cmd/parley":              {"*"},
	"engine":                  {"a2a", "store", "agent"},
	"internal/abuse":          {"a2a", "a2aclient"}, // for tests
	"internal/allocs":         {},
	"internal/config":         {"a2a"},
	"internal/dialect":        {"a2a", "internal/jsonscan", "internal/pb", "internal/pb/v03"},
	"internal/egress":         {},
	"internal/interrupt":      {},
	"internal/jsonscan":       {},
	"internal/mcpserver":      {"a2a", "a2aclient"},
	"internal/pb":             {},
	"internal/pb/v03":         {},
	"internal/pgtest":         {},
	"internal/queue":          {},
	"internal/torture":        {"a2a", "a2aclient"},        // for tests
	"internal/transcript":     {"a2a", "internal/dialect"}, // for tests
	"internal/webhook":        {"a2a"},
	"internal/wire":           {"internal/jsonscan"},
	"store":                   {"a2a"},
	"store/postgres":          {"a2a", "store"},
	"store/sqlite":            {"a2a", "store"},
	"store/storetest":         {"a2a", "store"},
}

// never says which packages of others a package must not import, by prefix.
var never = map[string][]string{
	"engine": {"net/http", "database/sql"}, // transports and SQL must not leak into rules
}

// standardOnly packages import nothing but the standard library.
var standardOnly = []string{"a2a", "internal/egress", "internal/jsonscan", "internal/queue", "internal/wire", "agent"}

func TestImportsPointDown(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			if path != "." && isModule(path) {
				return filepath.SkipDir // bench and interop are modules of their own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		seen[pkg] = true
		allowed, listed := may[pkg]
		if !listed {
			t.Errorf("package %s is not in the table of arch_test.go", pkg)
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			checkImport(t, path, pkg, imp, allowed)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range may {
		if !seen[pkg] {
			t.Errorf("the table lists package %s, which has no files", pkg)
		}
	}
}

func checkImport(t *testing.T, path, pkg, imp string, allowed []string) {
	t.Helper()
	for _, no := range never[pkg] {
		if imp == no || strings.HasPrefix(imp, no+"/") {
			t.Errorf("%s imports %s, which %s must never do", path, imp, pkg)
		}
	}
	own, inside := strings.CutPrefix(imp, module+"/")
	if !inside {
		first, _, _ := strings.Cut(imp, "/")
		if slices.Contains(standardOnly, pkg) && strings.Contains(first, ".") {
			t.Errorf("%s imports %s, but %s uses the standard library only", path, imp, pkg)
		}
		return
	}
	if !slices.Contains(allowed, "*") && !slices.Contains(allowed, own) {
		t.Errorf("%s imports %s: no arrow from %s to %s", path, own, pkg, own)
	}
}

func isModule(dir string) bool {
	m, _ := filepath.Glob(filepath.Join(dir, "go.mod"))
	return len(m) > 0
}
