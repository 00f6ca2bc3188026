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

// The call trees of the package comment name functions that there are.
func TestCallTreesNameFunctions(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
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
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\b(Engine|service|gate|owner|loop|inbox|topic|taker|draft|host)\.(\w+)\b`)
	seen := map[string]bool{}
	for _, m := range named.FindAllString(string(page), -1) {
		if seen[m] = true; !are[m] {
			t.Errorf("there is no %s", m)
		}
	}
	if len(seen) < 40 {
		t.Errorf("the trees name %d functions, which are too few to be them", len(seen))
	}
}
