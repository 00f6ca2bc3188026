package pages

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// TestBoundsPage: the limits that docs/bounds.md names are there, and have the values
// that it says.
func TestBoundsPage(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("docs/bounds.md")
	if err != nil {
		t.Fatal(err)
	}
	code := sources{}
	named := regexp.MustCompile("`((?:\\w+/)*\\w+)\\.([\\w.]+)`(?: \\(?([\\d,]+(?:\\.\\d+)?)(?: (ms|s|min|h|KiB|MiB))?)?")
	flags := regexp.MustCompile("`--([a-z-]+)`")
	command, err := os.ReadFile("internal/serve/limits.go")
	if err != nil {
		t.Fatal(err)
	}
	rows, some := 0, 0
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| | ") {
			rows++
			for i, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ") {
				cell = strings.TrimSpace(cell)
				if i > 0 && cell != "–" && !strings.ContainsAny(cell, "`0123456789") && !strings.Contains(cell, "processor") && !strings.Contains(cell, "one request") {
					t.Errorf("nothing bounds %q of %.40s", cell, line)
				}
			}
		}
		for _, m := range flags.FindAllStringSubmatch(line, -1) {
			if !strings.Contains(string(command), ", \""+m[1]+"\",") {
				t.Errorf("there is no --%s", m[1])
			}
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			some++
			is, err := code.value(m[1], m[2])
			if err != nil {
				t.Errorf("%s.%s: %v", m[1], m[2], err)
				continue
			}
			if m[3] == "" {
				if strings.HasPrefix(line, "|") {
					t.Errorf("%s.%s has no value beside it: it is %v", m[1], m[2], is)
				}
				continue
			}
			n, err := strconv.ParseFloat(strings.ReplaceAll(m[3], ",", ""), 64)
			unit := map[string]float64{"": 1, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3600e9, "KiB": 1 << 10, "MiB": 1 << 20}[m[4]]
			if got, _ := constant.Float64Val(constant.ToFloat(is)); err != nil || got != n*unit {
				t.Errorf("%s.%s is %v, and the page says %s %s", m[1], m[2], is, m[3], m[4])
			}
		}
	}
	if rows < 10 || some < 40 {
		t.Errorf("%d rows and %d values were found: is the page still read as it is written?", rows, some)
	}
}

// sources are the packages of this module by their directories, as they are written.
type sources map[string]map[string]ast.Expr

// value returns a constant of a package, or the default of an option: "Options.Name"
// is what the method name of Options returns first.
func (s sources) value(dir, name string) (constant.Value, error) {
	if s[dir] == nil {
		if err := s.read(dir); err != nil {
			return nil, err
		}
	}
	if of, field, ok := strings.Cut(name, "."); ok {
		r := []rune(field)
		r[0] = unicode.ToLower(r[0])
		name = of + "." + string(r)
	}
	return s.eval(dir, s[dir][name])
}

func (s sources) read(dir string) error {
	s[dir] = map[string]ast.Expr{}
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return err
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					v, ok := spec.(*ast.ValueSpec)
					if !ok || d.Tok != token.CONST || len(v.Values) != len(v.Names) {
						continue
					}
					for i, name := range v.Names {
						s[dir][name.Name] = v.Values[i]
					}
				}
			case *ast.FuncDecl:
				if d.Recv == nil || d.Body == nil {
					continue
				}
				if of, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
					if first := firstReturn(d.Body); first != nil {
						s[dir][fmt.Sprint(of.X)+"."+d.Name.Name] = first
					}
				}
			}
		}
	}
	return nil
}

// firstReturn is what a function returns first that is a value of one's own.
func firstReturn(body *ast.BlockStmt) (found ast.Expr) {
	ast.Inspect(body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && found == nil && len(r.Results) == 1 {
			found = r.Results[0]
		}
		return found == nil
	})
	return found
}

var units = map[string]int64{"Nanosecond": 1, "Millisecond": 1e6, "Second": 1e9, "Minute": 60e9, "Hour": 3600e9}

func (s sources) eval(dir string, e ast.Expr) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0), nil
	case *ast.ParenExpr:
		return s.eval(dir, e.X)
	case *ast.Ident:
		return s.eval(dir, s[dir][e.Name])
	case *ast.SelectorExpr:
		if n, ok := units[e.Sel.Name]; ok && fmt.Sprint(e.X) == "time" {
			return constant.MakeInt64(n), nil
		}
	case *ast.CallExpr: // cmp.Or(o.Field, default), which may be within a max or a min
		last := e.Args[len(e.Args)-1]
		switch of := e.Fun.(type) {
		case *ast.SelectorExpr:
			if of.Sel.Name == "Or" && fmt.Sprint(of.X) == "cmp" {
				return s.eval(dir, last)
			}
		case *ast.Ident:
			if of.Name == "max" || of.Name == "min" {
				return s.eval(dir, e.Args[0])
			}
		}
	case *ast.BinaryExpr:
		x, err := s.eval(dir, e.X)
		if err != nil {
			return nil, err
		}
		y, err := s.eval(dir, e.Y)
		if err != nil {
			return nil, err
		}
		if e.Op == token.SHL {
			n, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(n)), nil
		}
		return constant.BinaryOp(x, e.Op, y), nil
	}
	return nil, fmt.Errorf("there is no such constant, or it is not one that this test can compute")
}
