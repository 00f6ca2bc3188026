package engine

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The call trees of the package comments name functions that there are.
func TestCallTreesNameFunctions(t *testing.T) {
	var files []string
	rooms := []string{".", "internal/task", "internal/topic"}
	for _, room := range rooms {
		some, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	are := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			recv := fn.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			are[recv.(*ast.Ident).Name+"."+fn.Name.Name] = true
		}
	}
	named := regexp.MustCompile(`\b(Engine|service|gate|Owners|Owner|loop|inbox|Topics|Topic|Peers|taker|draft|host|others)\.(\w+)\b`)
	seen := map[string]bool{}
	for _, room := range rooms {
		page, err := os.ReadFile(filepath.Join(room, "doc.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllString(string(page), -1) {
			if seen[m] = true; !are[m] && m != "others.entries" { // a method of an interface
				t.Errorf("%s: there is no %s", room, m)
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("the trees name %d functions, which are too few to be them", len(seen))
	}
}
