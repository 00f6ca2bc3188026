package parley

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/a2a"
)

const module = "github.com/parley-a2a/parley"

// house is the table of packages, in rooms in the order in which a request meets them. It
// has the arrows of the house: what each package may import from this module. Tests may
// import more (they join parts to judge them). docs/pictures/house.svg is drawn of it.
var house = []struct {
	room, purpose string
	may           map[string][]string
}{
	{"Judges", "what is true of the whole", map[string][]string{
		"agent/openai/openaitest":           {}, // for tests
		"internal/pgtest":                   {},
		"internal/port/porttest":            {}, // for tests
		"store/storetest":                   {"a2a", "store", "store/archive"},
		"test/abuse":                        {"a2a", "a2aclient"},
		"test/api":                          {},
		"test/allocs":                       {},
		"test/conformance":                  {}, // but for its tests
		"test/fixtures":                     {}, // for tests
		"test/pages":                        {}, // but for its tests
		"test/systems":                      {},
		"test/torture":                      {"a2a", "a2aclient"},
		"test/transcripts":                  {"a2a", "internal/dialect"},
		"test/trace":                        {},               // but for its tests
		"engine/internal/outbox/outboxtest": {"a2a", "store"}, // for tests
	}},
	{"Command line", "flags in, text out: one file per command", map[string][]string{
		"cmd/parley":          {"*"},
		"internal/chat":       {"a2a", "internal/terminal"},
		"internal/contexts":   {"internal/failure", "internal/plain"},
		"internal/dotenv":     {},
		"internal/draft":      {"a2a", "a2aclient", "internal/config", "internal/failure", "internal/keyfile", "internal/plain", "internal/serve"},
		"internal/output":     {"a2a", "internal/download", "internal/failure", "internal/plain", "internal/shape", "internal/terminal"},
		"internal/parts":      {"a2a", "internal/failure", "internal/flagvalue", "internal/plain"},
		"internal/receiver":   {"a2a", "a2aclient", "a2aserver", "internal/plain"},
		"internal/shape":      {"internal/plain"},
		"internal/terminal":   {"a2a", "internal/plain"},
		"internal/signin":     {"a2a", "a2aclient", "auth", "internal/contexts", "internal/failure"},
		"internal/storecheck": {"store", "store/postgres", "store/storetest", "internal/plain", "internal/terminal"},
		"internal/wirelog":    {"internal/plain"},
	}},
	{"Examples", "programs with an agent", map[string][]string{
		"examples/go": {"a2a", "agent", "."},
	}},
	{"Serving", "parley.yaml and flags become a running host", map[string][]string{
		"internal/serve": {"*"},
	}},
	{"Tools", "conformance, an agent as an MCP server, catalogs", map[string][]string{
		"internal/catalog/crawl": {"a2a", "a2aclient", "internal/catalog"},
		"internal/mcpserver":     {"a2a", "a2aclient", "internal/wake"},
		"internal/acts":          {"internal/wire", "internal/pb", "internal/pb/v03", "internal/wake"}, // never the codecs: a judge that shares them cannot see their bugs
	}},
	{"Front door", "Serve and Dial, for programs", map[string][]string{
		".": {"*"},
	}},
	{"Configuration", "parley.yaml, keys and passwords", map[string][]string{
		"internal/config":    {"a2a", "internal/dialect", "internal/failure", "internal/flagvalue"},
		"internal/flagvalue": {"a2a"},
		"internal/keyfile":   {"auth", "internal/failure", "internal/plain"},
	}},
	{"Console", "the web console and the admin API", map[string][]string{
		"internal/console":  {"a2a", "internal/admin", "internal/download", "internal/wake"},
		"internal/download": {"a2a", "internal/plain"}, // whose files the command line saves, too
		"internal/admin":    {"a2a", "internal/wire"},
	}},
	{"Other agents", "behind a URL, a model, MCP or A2A", map[string][]string{
		"agent/httpagent": {"a2a", "agent", "internal/json", "internal/program", "internal/queue", "internal/egress", "internal/wire", "internal/telemetry", "internal/wake"},
		"agent/mcp":       {"a2a", "agent", "internal/egress", "internal/json", "internal/queue", "internal/scarce", "internal/skill", "internal/upload", "internal/telemetry", "internal/wake", "internal/child"},
		"agent/openai":    {"a2a", "agent", "internal/egress", "internal/queue", "internal/wire", "internal/telemetry", "internal/telemetry/metrics", "internal/wake"},
		"agent/proxy":     {"a2a", "agent", "a2aclient", "internal/egress", "internal/telemetry", "internal/wake", "internal/webhook"},
	}},
	{"Server", "a network over a2a.Service", map[string][]string{
		"a2aserver":        {"a2a", "internal/json", "internal/wire", "internal/audit", "internal/budget", "internal/catalog", "internal/dialect", "internal/egress", "internal/port", "internal/queue", "internal/webhook", "internal/telemetry", "internal/telemetry/metrics"},
		"internal/audit":   {"a2a", "internal/dialect", "internal/fileowner", "internal/telemetry/metrics"},
		"internal/catalog": {"a2a"},
		"internal/port":    {"internal/budget", "internal/queue", "internal/scarce"},
	}},
	{"Engine", "a2a.Service over an agent and a store", map[string][]string{
		"engine":                 {"a2a", "store", "agent", "engine/internal/again", "engine/internal/outbox", "engine/internal/place", "engine/internal/stored", "engine/internal/task", "engine/internal/topic", "internal/wake", "internal/budget", "internal/json", "internal/skill", "internal/telemetry", "internal/telemetry/metrics"},
		"engine/internal/again":  {"a2a", "store", "internal/json"},
		"engine/internal/outbox": {"a2a", "store", "internal/budget", "internal/telemetry", "internal/wake"},
		"engine/internal/place":  {"store", "internal/wake"},
		"engine/internal/stored": {"a2a", "store", "internal/budget"},
		"engine/internal/task":   {"a2a", "agent", "store", "engine/internal/again", "engine/internal/outbox", "engine/internal/place", "engine/internal/stored", "engine/internal/topic", "internal/wake", "internal/budget", "internal/telemetry", "internal/telemetry/metrics"},
		"engine/internal/topic":  {"a2a", "agent", "store", "engine/internal/stored", "internal/wake", "internal/budget"},
	}},
	{"Client", "a2a.Service over a network", map[string][]string{
		"a2aclient": {"a2a", "internal/wire", "internal/dialect", "internal/egress", "internal/upload", "internal/webhook", "internal/telemetry", "internal/wake"},
	}},
	{"Identity", "who calls", map[string][]string{
		"auth": {"a2a", "internal/json", "internal/wake"},
	}},
	{"Agent", "what an author writes", map[string][]string{
		"agent":            {"a2a", "internal/json", "internal/program", "internal/queue", "internal/scarce", "internal/wake", "internal/child"},
		"internal/program": {"a2a"},
		"internal/skill":   {"a2a", "internal/json"},
	}},
	{"Store", "the log: memory, SQLite, PostgreSQL", map[string][]string{
		"internal/database": {"store", "store/archive", "store/postgres", "store/sqlite", "internal/failure", "internal/plain"},
		"store":             {"a2a"},
		"store/archive":     {"store"},
		"store/postgres":    {"a2a", "store"},
		"store/sqlite":      {"a2a", "store", "internal/fileowner"},
	}},
	{"Webhooks", "signed, posted, and only where allowed", map[string][]string{
		"internal/egress":  {"internal/scarce", "internal/upload"},
		"internal/webhook": {"a2a", "internal/budget", "internal/dialect", "internal/egress", "internal/json", "internal/scarce", "internal/telemetry", "internal/wire"},
	}},
	{"Wire", "every version and binding of the protocol", map[string][]string{
		"internal/dialect": {"a2a", "internal/json", "internal/pb", "internal/pb/v03"},
		"internal/pb":      {},
		"internal/pb/v03":  {},
		"internal/wire":    {"internal/json"},
	}},
	{"Telemetry", "traces and metrics", map[string][]string{
		"internal/telemetry":         {"a2a"},
		"internal/telemetry/export":  {"internal/telemetry", "internal/telemetry/metrics"},
		"internal/telemetry/metrics": {},
	}},
	{"Protocol", "types of 1.0, Service, errors, Fold", map[string][]string{
		"a2a": {"internal/json"},
	}},
	{"Ground", "no rules of A2A", map[string][]string{
		"internal/budget":       {},
		"internal/child":        {},
		"internal/failure":      {},
		"internal/fileowner":    {},
		"internal/help":         {},
		"internal/interrupt":    {},
		"internal/json":         {},
		"internal/json/methods": {}, // a generator
		"internal/plain":        {},
		"internal/queue":        {},
		"internal/scarce":       {},
		"internal/upload":       {},
		"internal/wake":         {},
	}},
}

// may is the table without rooms.
var may = func() map[string][]string {
	all := map[string][]string{}
	for _, r := range house {
		for pkg, imports := range r.may {
			if _, twice := all[pkg]; twice {
				panic("the table has " + pkg + " in two rooms")
			}
			all[pkg] = imports
		}
	}
	return all
}()

// never says which packages of others a package must not import, by prefix.
var never = map[string][]string{
	"engine":                 {"net/http", "database/sql"}, // transports and SQL must not leak into rules
	"engine/internal/again":  {"net/http", "database/sql"},
	"engine/internal/outbox": {"net/http", "database/sql"},
	"engine/internal/place":  {"net/http", "database/sql"},
	"engine/internal/stored": {"net/http", "database/sql"},
	"engine/internal/task":   {"net/http", "database/sql"},
	"engine/internal/topic":  {"net/http", "database/sql"},
}

// standardOnly packages import nothing but the standard library.
var standardOnly = []string{"a2a", "internal/budget", "internal/child", "internal/egress", "internal/json", "internal/queue", "internal/scarce", "internal/upload", "internal/wake", "internal/wire", "agent"}

func TestImportsPointDown(t *testing.T) {
	seen := map[string]bool{}
	eachFile(t, func(path, pkg string, f *ast.File) {
		seen[pkg] = true
		allowed, listed := may[pkg]
		if !listed {
			t.Errorf("package %s is not in the table of arch_test.go", pkg)
			return
		}
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			checkImport(t, path, pkg, imp, allowed)
		}
	})
	for pkg := range may {
		if !seen[pkg] {
			t.Errorf("the table lists package %s, which has no files", pkg)
		}
	}
}

// The table above is the truth. Each package is explained in the index of rooms of docs/tour.md
// or, if it is a package of its own for a reason, in the design notes.
func TestPackagesAreExplained(t *testing.T) {
	read := func(name string) string {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(page)
	}
	_, rooms, found := strings.Cut(read("docs/tour.md"), "\n## Index of rooms\n")
	if !found {
		t.Fatal("docs/tour.md has no index of rooms")
	}
	reasons := read("docs/design/0021-small-packages.md")
	for pkg := range may {
		if name := "`" + pkg + "`"; pkg != "." && !strings.Contains(rooms, name) && !strings.Contains(reasons, name) {
			t.Errorf("package %s is neither in the index of rooms of docs/tour.md nor in docs/design/0021", pkg)
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\* (`[^:]*):").FindAllStringSubmatch(rooms, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[1], -1) {
			if pkg := name[1]; pkg != "parley" && may[pkg] == nil {
				t.Errorf("the index of rooms has %s, which the table of arch_test.go does not have", pkg)
			}
		}
	}
}

// mayNameVersions lists the files and packages outside of internal/dialect that
// hold names of versions of the protocol, and says why.
var mayNameVersions = map[string]string{
	"internal/catalog/catalog.go": "it is the version of another format, that of manifests",
	"internal/acts":               "it judges versions on the wire by itself, so that it shares no fault with the codecs",
	"a2a/version.go":              "records keep the name of a version; what it stands for is told here",
	"test/torture":                "it writes and judges what is on the wire by itself, so that it shares no fault with the codecs",
}

// Everything but internal/dialect asks what a version means, never which one it is.
func TestVersionsAreNamedInDialect(t *testing.T) {
	versions := []string{"0.1", "0.2", "0.3", "1.0", "1.1"}
	named := map[string]bool{}
	eachFile(t, func(path, pkg string, f *ast.File) {
		if pkg == "internal/dialect" {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, _ := strconv.Unquote(lit.Value); slices.Contains(versions, text) {
				named[path], named[pkg] = true, true
				if mayNameVersions[path] == "" && mayNameVersions[pkg] == "" {
					t.Errorf("%s names version %s of the protocol: let internal/dialect or a2a.Version say what is meant by it", path, text)
				}
			}
			return true
		})
	})
	checkList(t, mayNameVersions, named)
}

// Everything that depends on the operation is in the operation table: a new
// operation is a row there. It is no switch to ask for one operation, nor for the
// fields of the few requests that have them.
func TestOperationsAreToldApartInDialect(t *testing.T) {
	operations := map[string]bool{}
	for name := range reflect.TypeFor[a2a.Service]().Methods() {
		operations[name.Name] = true
	}
	eachFile(t, func(path, pkg string, f *ast.File) {
		if pkg == "internal/dialect" {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			var cases []string
			switch n := n.(type) {
			case *ast.SwitchStmt:
				cases = slices.DeleteFunc(casesOf(n.Body, "dialect"), func(name string) bool { return !operations[name] })
				if len(cases) < 2 {
					return true
				}
			case *ast.TypeSwitchStmt:
				cases = slices.DeleteFunc(casesOf(n.Body, "a2a"), func(name string) bool { return !strings.HasSuffix(name, "Request") })
				if len(cases) <= fewRequests {
					return true
				}
			default:
				return true
			}
			t.Errorf("%s has a switch over %s: let the operation table of internal/dialect say it",
				path, strings.Join(cases, ", "))
			return true
		})
	})
}

const fewRequests = 4

// casesOf returns what the clauses of a switch name of a package.
func casesOf(body *ast.BlockStmt, pkg string) (names []string) {
	for _, clause := range body.List {
		for _, e := range clause.(*ast.CaseClause).List {
			if star, ok := e.(*ast.StarExpr); ok {
				e = star.X
			}
			if sel, ok := e.(*ast.SelectorExpr); ok {
				if from, ok := sel.X.(*ast.Ident); ok && from.Name == pkg {
					names = append(names, sel.Sel.Name)
				}
			}
		}
	}
	return names
}

const maxFields = 40

// A struct of many fields is a state machine, or several things, that no type shows.
func TestStructsAreSmall(t *testing.T) {
	eachFile(t, func(path, pkg string, f *ast.File) {
		if ast.IsGenerated(f) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			st, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			if n := st.Fields.NumFields(); n > maxFields {
				t.Errorf("%s.%s has %d fields: %d at most", pkg, spec.Name.Name, n, maxFields)
			}
			return true
		})
	})
}

// checkList wants every entry of a list of exceptions to be in use.
func checkList(t *testing.T, list map[string]string, found map[string]bool) {
	t.Helper()
	for name := range list {
		if !found[name] {
			t.Errorf("the list of exceptions names %s, which is none any more", name)
		}
	}
}

// eachFile calls a function with each file of the module but tests, by its path
// and the folder of its package.
func eachFile(t *testing.T, do func(path, pkg string, f *ast.File)) {
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		do(filepath.ToSlash(path), filepath.ToSlash(filepath.Dir(path)), all[path])
	}
}

// files are those of eachFile, by their paths. They are parsed once for all tests.
var files = sync.OnceValues(func() (map[string]*ast.File, error) {
	all := map[string]*ast.File{}
	return all, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
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
		all[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution|parser.ParseComments)
		return err
	})
})

// The root is the front door, which one reads in a minute.
func TestRootHasTenFiles(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 10 {
		t.Errorf("the root has %d Go files, and ten at most are to be there: what judges the whole goes to test", len(files))
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
