package telemetry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The page for operators has every name.
func TestNamesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		name, _ := strconv.Unquote(lit.Value)
		family, _, _ := strings.Cut(name, ".")
		if names++; !strings.Contains(string(page), "`"+name) && family != "go" && name != Scope && !strings.HasSuffix(name, "telemetry") && !strings.Contains(name, "go.opentelemetry.io") {
			t.Errorf("docs/observability.md does not say what %s is", name)
		}
		return true
	})
	if names < 50 {
		t.Errorf("%d names were found", names)
	}
}
