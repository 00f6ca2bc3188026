// Command systems checks the types of this module as other systems build it, with
// its tests: the files of those systems are compiled nowhere else. It reads all
// packages from their source and makes no code, so it takes a tenth of the time
// that go vet needs for a system whose packages were never compiled. Functions of
// other modules are read without their bodies.
//
//	go run ./test/systems darwin/arm64 windows/amd64
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/tools/go/packages"
)

func main() {
	var all sync.WaitGroup
	var failed atomic.Bool
	for _, target := range os.Args[1:] {
		all.Go(func() {
			if err := check(target); err != nil {
				fmt.Fprintf(os.Stderr, "systems: %s: %v\n", target, err)
				failed.Store(true)
			}
		})
	}
	all.Wait()
	if failed.Load() {
		os.Exit(1)
	}
}

func check(target string) error {
	system, arch, ok := strings.Cut(target, "/")
	if !ok {
		return errors.New("expected a system and an architecture, such as darwin/arm64")
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	root += string(filepath.Separator)
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
		Tests: true,
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, root) {
				for _, d := range file.Decls {
					if f, ok := d.(*ast.FuncDecl); ok {
						f.Body = nil
					}
				}
			}
			return file, err
		},
	}, "./...")
	if err != nil {
		return err
	}
	n := 0
	// Of packages without bodies it would be said that they do not use what they import.
	packages.Visit(list, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if e.Kind != packages.TypeError || strings.HasPrefix(e.Pos, root) {
				fmt.Fprintln(os.Stderr, e)
				n++
			}
		}
	})
	if n > 0 {
		return fmt.Errorf("%d errors", n)
	}
	fmt.Printf("%s: %d packages\n", target, len(list))
	return nil
}
