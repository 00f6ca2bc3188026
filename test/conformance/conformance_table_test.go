package conformance

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rows is how many the checklist has.
const rows = 289

var (
	rowNumber = regexp.MustCompile(`\bR-\d{3}\b`)
	rowLine   = regexp.MustCompile(`^\| (R-\d{3}) \| (MUST|MUST NOT|SHOULD|SHOULD NOT|MAY) \| [^|]+ \| (met|not yet: [^|]+|review: [^|]+) \| ?([^|]*?) ?\|$`)
)

// TestConformanceTable compares rules.md with the tests.
func TestConformanceTable(t *testing.T) {
	t.Parallel()
	carried := labels(t)
	page, err := os.ReadFile("rules.md")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	next := 1
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| R-") {
			continue
		}
		m := rowLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			t.Errorf("not a row of the form id, level, statement, status, tests: %s", line)
			continue
		}
		id, status, names := m[1], m[3], m[4]
		if want := fmt.Sprintf("R-%03d", next); id != want {
			t.Fatalf("%s stands where %s should", id, want)
		}
		next++
		kind, _, _ := strings.Cut(status, ":")
		counts[kind]++

		var named []string
		if names != "" {
			named = strings.Split(names, ", ")
		}
		if kind == "met" && len(named) == 0 {
			t.Errorf("%s is met, but no test is named", id)
		}
		for _, test := range named {
			if !slices.Contains(carried[id], test) {
				t.Errorf("%s names %s, which has no subtest that carries the number", id, test)
			}
		}
		for _, test := range carried[id] {
			if !slices.Contains(named, test) {
				t.Errorf("%s does not name %s, which carries the number", id, test)
			}
		}
	}
	if next != rows+1 {
		t.Errorf("%d rows, want %d", next-1, rows)
	}
	for id := range carried {
		if id > fmt.Sprintf("R-%03d", rows) || id == "R-000" {
			t.Errorf("a test carries %s, which is no row", id)
		}
	}
	sum := fmt.Sprintf("Of %d rows %d are met, %d are not yet, %d are for review.", rows, counts["met"], counts["not yet"], counts["review"])
	if !strings.Contains(string(page), sum) {
		t.Errorf("the page does not say: %s", sum)
	}
}

// labels returns, for each row number, the tests of this package that have it
// in the name of a subtest.
func labels(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	carried := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Test") || fn.Recv != nil {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				for _, id := range rowNumber.FindAllString(subtest(n), -1) {
					if !slices.Contains(carried[id], fn.Name.Name) {
						carried[id] = append(carried[id], fn.Name.Name)
					}
				}
				return true
			})
		}
	}
	return carried
}

// subtest returns the name of a subtest, if a node is a call of t.Run with a
// name that is written out, else "".
func subtest(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 {
		return ""
	}
	if fn, ok := call.Fun.(*ast.SelectorExpr); !ok || fn.Sel.Name != "Run" {
		return ""
	}
	name, _ := call.Args[0].(*ast.BasicLit)
	if name == nil {
		return ""
	}
	return name.Value
}
