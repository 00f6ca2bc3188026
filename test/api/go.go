package api

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Go returns what Go programs may name of the packages, as Go's own api files spell it.
// Names of parameters and values of constants are no part of it.
func Go(dir string, patterns ...string) (features []string, err error) {
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedExportFile, Dir: dir,
	}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if len(p.Errors) > 0 {
			return nil, p.Errors[0]
		}
		features = append(features, Package(p.Types)...)
	}
	slices.Sort(features)
	return slices.Compact(features), nil
}

// Package returns what Go programs may name of one package.
func Package(p *types.Package) []string {
	w := writer{pkg: p}
	for _, name := range p.Scope().Names() {
		if obj := p.Scope().Lookup(name); obj.Exported() {
			w.object(obj)
		}
	}
	return w.lines
}

type writer struct {
	pkg   *types.Package
	lines []string
}

func (w *writer) add(format string, args ...any) {
	w.lines = append(w.lines, "pkg "+strings.TrimPrefix(w.pkg.Path(), "github.com/parley-a2a/")+", "+fmt.Sprintf(format, args...))
}

func (w *writer) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		w.add("const %s %s", obj.Name(), w.typ(obj.Type()))
	case *types.Var:
		w.add("var %s %s", obj.Name(), w.typ(obj.Type()))
	case *types.Func:
		w.add("func %s%s", obj.Name(), w.signature(obj.Signature()))
	case *types.TypeName:
		w.typeName(obj)
	}
}

func (w *writer) typeName(obj *types.TypeName) {
	if obj.IsAlias() {
		w.add("type %s = %s", obj.Name(), w.typ(types.Unalias(obj.Type())))
		return
	}
	name := w.typ(obj.Type())
	switch under := obj.Type().Underlying().(type) {
	case *types.Struct:
		w.add("type %s struct", name)
		w.fields(name, under)
	case *types.Interface:
		w.methodsOf(name, under)
		return
	default:
		w.add("type %s %s", name, w.typ(under))
	}
	set := types.NewMethodSet(types.NewPointer(obj.Type()))
	values := types.NewMethodSet(obj.Type())
	for m := range set.Methods() {
		if m.Obj().Exported() {
			receiver := "*" + name
			if values.Lookup(w.pkg, m.Obj().Name()) != nil {
				receiver = name
			}
			w.add("method (%s) %s%s", receiver, m.Obj().Name(), w.signature(m.Type().(*types.Signature)))
		}
	}
}

// fields adds the exported fields, those of embedded structs without a name of their own included.
func (w *writer) fields(name string, s *types.Struct) {
	for f := range s.Fields() {
		switch {
		case f.Embedded() && f.Exported():
			w.add("type %s struct, embedded %s", name, w.typ(f.Type()))
		case f.Exported():
			w.add("type %s struct, %s %s", name, f.Name(), w.typ(f.Type()))
		case f.Embedded():
			if inner, ok := f.Type().Underlying().(*types.Struct); ok {
				w.fields(name, inner)
			}
		}
	}
}

// methodsOf has all methods in one line as well: one more breaks each type that has the
// others, if others may implement the interface.
func (w *writer) methodsOf(name string, i *types.Interface) {
	if !i.IsMethodSet() {
		w.add("type %s %s", name, w.typ(i))
		return
	}
	var names []string
	sealed := false
	for m := range i.Methods() {
		if !m.Exported() {
			sealed = true
			continue
		}
		names = append(names, m.Name())
		w.add("type %s interface, %s%s", name, m.Name(), w.signature(m.Signature()))
	}
	if sealed {
		w.add("type %s interface, unexported methods", name)
		return
	}
	w.add("type %s interface { %s }", name, strings.Join(names, ", "))
}

func (w *writer) signature(s *types.Signature) string {
	return strings.TrimPrefix(w.typ(s), "func")
}

// typ spells a type, without the names of parameters.
func (w *writer) typ(t types.Type) string {
	if s, ok := t.(*types.Signature); ok {
		var params []*types.TypeParam
		for p := range s.TypeParams().TypeParams() {
			params = append(params, p)
		}
		if len(params) > 0 { // those cannot be given to another signature
			return types.TypeString(s, w.qualify)
		}
		t = types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic())
	}
	return types.TypeString(t, w.qualify)
}

func unnamed(t *types.Tuple) *types.Tuple {
	var vars []*types.Var
	for v := range t.Variables() {
		typ := v.Type()
		if s, ok := typ.(*types.Signature); ok {
			typ = types.NewSignatureType(nil, nil, nil, unnamed(s.Params()), unnamed(s.Results()), s.Variadic())
		}
		vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", typ))
	}
	return types.NewTuple(vars...)
}

func (w *writer) qualify(p *types.Package) string {
	if p == w.pkg {
		return ""
	}
	return p.Name()
}
