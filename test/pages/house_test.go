package pages

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/pictures/house.svg anew")

// A room is a box of the map: packages that one reads together.
type room struct {
	name, purpose string
	packages      []string
}

// rooms are in the order in which a request meets them. A pattern that ends with a
// star is for all packages below.
var rooms = []room{
	{"Judges", "what is true of the whole", []string{"test/*", "store/storetest", "engine/internal/outbox/outboxtest", "internal/port/porttest", "internal/pgtest", "agent/openai/openaitest"}},
	{"Command line", "flags in, text out: one file per command", []string{"cmd/parley", "internal/chat", "internal/contexts", "internal/dotenv", "internal/download", "internal/draft", "internal/help", "internal/output", "internal/parts", "internal/receiver", "internal/shape", "internal/signin", "internal/terminal", "internal/wirelog"}},
	{"Examples", "programs with an agent", []string{"examples/go"}},
	{"Serving", "parley.yaml and flags become a running host", []string{"internal/serve"}},
	{"Tools", "conformance, an agent as an MCP server, catalogs", []string{"internal/acts", "internal/mcpserver", "internal/catalog/crawl"}},
	{"Front door", "Serve and Dial, for programs", []string{"."}},
	{"Configuration", "parley.yaml, keys and passwords", []string{"internal/config", "internal/flagvalue", "internal/keyfile"}},
	{"Console", "the web console and the admin API", []string{"internal/console", "internal/admin"}},
	{"Other agents", "behind a URL, a model, MCP or A2A", []string{"agent/httpagent", "agent/mcp", "agent/openai", "agent/proxy"}},
	{"Server", "a network over a2a.Service", []string{"a2aserver", "internal/port", "internal/audit", "internal/catalog"}},
	{"Engine", "a2a.Service over an agent and a store", []string{"engine", "engine/internal/*"}},
	{"Client", "a2a.Service over a network", []string{"a2aclient"}},
	{"Identity", "who calls", []string{"auth"}},
	{"Agent", "what an author writes", []string{"agent", "internal/skill"}},
	{"Store", "the log: memory, SQLite, PostgreSQL", []string{"store", "store/archive", "store/postgres", "store/sqlite", "internal/database"}},
	{"Webhooks", "signed, posted, and only where allowed", []string{"internal/webhook", "internal/egress"}},
	{"Wire", "every version and binding of the protocol", []string{"internal/dialect", "internal/wire", "internal/pb", "internal/pb/v03"}},
	{"Telemetry", "traces and metrics", []string{"internal/telemetry", "internal/telemetry/*"}},
	{"Protocol", "types of 1.0, Service, errors, Fold", []string{"a2a"}},
	{"Ground", "no rules of A2A", []string{"internal/budget", "internal/failure", "internal/interrupt", "internal/json", "internal/json/methods", "internal/plain", "internal/queue", "internal/scarce", "internal/upload"}},
}

// roomOf returns which room a package is in; -1 if it is in none. A name counts for
// more than a star.
func roomOf(pkg string) int {
	in := -1
	for i, r := range rooms {
		for _, p := range r.packages {
			if p == pkg {
				return i
			}
			if below, star := strings.CutSuffix(p, "*"); star && strings.HasPrefix(pkg, below) {
				in = i
			}
		}
	}
	return in
}

// TestHouse: docs/pictures/house.svg is what the imports say, in rooms whose arrows
// all point down.
func TestHouse(t *testing.T) {
	t.Chdir("../..")
	table := packages(t)
	members := make([][]string, len(rooms))
	for _, pkg := range table {
		if i := roomOf(pkg); i >= 0 {
			members[i] = append(members[i], pkg)
		} else {
			t.Errorf("package %s of arch_test.go's table is in no room of the map: see rooms", pkg)
		}
	}
	for i, r := range rooms {
		for _, p := range r.packages {
			if !strings.HasSuffix(p, "*") && !slices.Contains(members[i], p) {
				t.Errorf("the map has package %s, which arch_test.go's table does not have", p)
			}
		}
	}
	arrows := imports(t, table)
	for _, r := range loop(arrows) {
		t.Errorf("the rooms import each other in a ring: %s", rooms[r].name)
	}
	if t.Failed() {
		return
	}

	const name = "docs/pictures/house.svg"
	want := draw(members, arrows)
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(name); string(got) != want {
		t.Errorf("%s is not what the imports say: go test ./test/pages -run House -update, and look at it", name)
	}
}

// packages returns the packages of arch_test.go's table.
func packages(t *testing.T) (names []string) {
	f, err := parser.ParseFile(token.NewFileSet(), "arch_test.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "may" {
			return true
		}
		for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
			pkg, _ := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
			names = append(names, pkg)
		}
		return false
	})
	if len(names) == 0 {
		t.Fatal("arch_test.go has no table named may")
	}
	slices.Sort(names)
	return names
}

// imports returns, for each room, the rooms that its packages import.
func imports(t *testing.T, table []string) []map[int]bool {
	const module = "github.com/parley-a2a/parley"
	arrows := make([]map[int]bool, len(rooms))
	for i := range arrows {
		arrows[i] = map[int]bool{}
	}
	fset := token.NewFileSet()
	for _, pkg := range table {
		files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(fset, name, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range f.Imports {
				imp, _ := strconv.Unquote(spec.Path.Value)
				if imp != module && !strings.HasPrefix(imp, module+"/") {
					continue
				}
				from, to := roomOf(pkg), roomOf(path.Clean(strings.TrimPrefix(strings.TrimPrefix(imp, module), "/")))
				if from >= 0 && to >= 0 && from != to {
					arrows[from][to] = true
				}
			}
		}
	}
	return arrows
}

// loop returns the rooms that reach themselves.
func loop(arrows []map[int]bool) (found []int) {
	for i := range arrows {
		if reaches(arrows, i, i, map[int]bool{}) {
			found = append(found, i)
		}
	}
	return found
}

// reaches reports whether arrows lead from one room to another.
func reaches(arrows []map[int]bool, from, to int, seen map[int]bool) bool {
	for next := range arrows[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if reaches(arrows, next, to, seen) {
				return true
			}
		}
	}
	return false
}

// essential leaves out the arrows that others imply: what a room imports by way of
// another one.
func essential(arrows []map[int]bool) [][]int {
	least := make([][]int, len(arrows))
	for from, tos := range arrows {
		for _, to := range slices.Sorted(maps.Keys(tos)) {
			implied := false
			for by := range tos {
				implied = implied || by != to && reaches(arrows, by, to, map[int]bool{})
			}
			if !implied {
				least[from] = append(least[from], to)
			}
		}
	}
	return least
}

// levels returns the floor of each room: 0 for one that imports no other, else one
// more than the highest that it imports.
func levels(arrows []map[int]bool) []int {
	floor := make([]int, len(arrows))
	for changed := true; changed; {
		changed = false
		for from, tos := range arrows {
			for to := range tos {
				if floor[from] <= floor[to] {
					floor[from], changed = floor[to]+1, true
				}
			}
		}
	}
	return floor
}
