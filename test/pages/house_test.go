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

// rooms are those of arch_test.go's table.
var rooms []room

// roomOf returns which room a package is in; -1 if it is in none.
func roomOf(pkg string) int {
	return slices.IndexFunc(rooms, func(r room) bool { return slices.Contains(r.packages, pkg) })
}

// TestHouse: docs/pictures/house.svg is what the imports say, in rooms whose arrows
// all point down.
func TestHouse(t *testing.T) {
	t.Chdir("../..")
	rooms = table(t)
	arrows := imports(t)
	for _, r := range loop(arrows) {
		t.Errorf("the rooms import each other in a ring: %s", rooms[r].name)
	}
	if t.Failed() {
		return
	}

	const name = "docs/pictures/house.svg"
	want := draw(arrows)
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(name); string(got) != want {
		t.Errorf("%s is not what the imports say: go test ./test/pages -run House -update, and look at it", name)
	}
}

// table returns the rooms of arch_test.go's table.
func table(t *testing.T) (list []room) {
	f, err := parser.ParseFile(token.NewFileSet(), "arch_test.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	text := func(e ast.Expr) string {
		s, _ := strconv.Unquote(e.(*ast.BasicLit).Value)
		return s
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "house" {
			return true
		}
		for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
			row := e.(*ast.CompositeLit).Elts
			r := room{name: text(row[0]), purpose: text(row[1])}
			for _, e := range row[2].(*ast.CompositeLit).Elts {
				r.packages = append(r.packages, text(e.(*ast.KeyValueExpr).Key))
			}
			slices.Sort(r.packages)
			list = append(list, r)
		}
		return false
	})
	if len(list) == 0 {
		t.Fatal("arch_test.go has no table named house")
	}
	return list
}

// imports returns, for each room, the rooms that its packages import.
func imports(t *testing.T) []map[int]bool {
	arrows := make([]map[int]bool, len(rooms))
	for from, r := range rooms {
		arrows[from] = map[int]bool{}
		for _, pkg := range r.packages {
			for _, imp := range importsOf(t, pkg) {
				if to := roomOf(imp); to >= 0 && to != from {
					arrows[from][to] = true
				}
			}
		}
	}
	return arrows
}

// importsOf returns the packages of this module that a package imports.
func importsOf(t *testing.T, pkg string) (list []string) {
	const module = "github.com/parley-a2a/parley"
	files, err := filepath.Glob(filepath.Join(pkg, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			if rest, ok := strings.CutPrefix(imp+"/", module+"/"); ok {
				list = append(list, path.Clean(rest))
			}
		}
	}
	return list
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
