package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// factoryFix turns http.Get(url) into factory.Get(ctx, url), if a factory that
// the package imports has a function of that name and shape, and there is one
// context in scope. It brings its own import.
func (p *pass) factoryFix(c inspector.Cursor, call *ast.CallExpr, name string) *fix {
	ctx, ok := p.contextAt(c)
	if !ok || !ctx.only || !p.keepsImport(call, pkgHTTP, "Get", "Head", "Post", "PostForm") {
		return nil
	}
	for _, imp := range p.Pkg.Imports() {
		if !p.isNamedFactory(imp) {
			continue
		}
		fn, ok := imp.Scope().Lookup(name).(*types.Func)
		if !ok || !takesContextAnd(fn.Signature(), p.callee(call).Signature()) {
			continue
		}
		local, edits := p.importEdit(c, imp)
		if local == "" {
			continue
		}
		edits = append(edits,
			analysis.TextEdit{Pos: call.Fun.Pos(), End: call.Fun.End(), NewText: []byte(local + name)},
			analysis.TextEdit{Pos: call.Args[0].Pos(), End: call.Args[0].Pos(), NewText: []byte(ctx.name + ", ")},
		)
		return &fix{"Call " + imp.Name() + "." + name, edits}
	}
	return nil
}

// isNamedFactory reports whether the options or its own comment make imp a
// factory.
func (p *pass) isNamedFactory(imp *types.Package) bool {
	for _, f := range p.opts.Factories {
		if below, tree := strings.CutSuffix(f, "/..."); imp.Path() == below || tree && strings.HasPrefix(imp.Path(), below+"/") {
			return true
		}
	}
	return p.sameModule(imp) && p.ImportPackageFact(imp, &Factory{})
}

// takesContextAnd reports whether sig is want with a context in front.
func takesContextAnd(sig, want *types.Signature) bool {
	n := want.Params().Len()
	if sig.Params().Len() != n+1 || sig.Variadic() || sig.TypeParams().Len() > 0 || !isContext(sig.Params().At(0).Type()) {
		return false
	}
	for i := range n {
		if !types.Identical(sig.Params().At(i+1).Type(), want.Params().At(i).Type()) {
			return false
		}
	}
	return types.Identical(sig.Results(), want.Results())
}

// importEdit returns what to write before a name of imp in the file around c,
// and the edit that adds the import if the file lacks it. It gives up, with "",
// where the name is taken.
func (p *pass) importEdit(c inspector.Cursor, imp *types.Package) (string, []analysis.TextEdit) {
	var file *ast.File
	for f := range c.Enclosing((*ast.File)(nil)) {
		file = f.Node().(*ast.File)
	}
	for _, spec := range file.Imports {
		if have, _ := strconv.Unquote(spec.Path.Value); have != imp.Path() {
			continue
		}
		switch {
		case spec.Name == nil:
			return p.unshadowed(c, imp.Name(), imp), nil
		case spec.Name.Name == ".":
			return "", nil
		case spec.Name.Name != "_":
			return p.unshadowed(c, spec.Name.Name, imp), nil
		}
	}
	if _, obj := p.Pkg.Scope().Innermost(c.Node().Pos()).LookupParent(imp.Name(), token.NoPos); obj != nil {
		return "", nil
	}
	if len(file.Imports) == 0 {
		return "", nil
	}
	spec := strconv.Quote(imp.Path())
	if path.Base(imp.Path()) != imp.Name() {
		spec = imp.Name() + " " + spec
	}
	last := file.Imports[len(file.Imports)-1]
	text := "\n\t" + spec
	if decl := importDecl(file, last); decl != nil && !decl.Lparen.IsValid() {
		text = "\nimport " + spec
	}
	return imp.Name() + ".", []analysis.TextEdit{{Pos: last.End(), End: last.End(), NewText: []byte(text)}}
}

// unshadowed returns "name." if name means the package at c.
func (p *pass) unshadowed(c inspector.Cursor, name string, imp *types.Package) string {
	_, obj := p.Pkg.Scope().Innermost(c.Node().Pos()).LookupParent(name, c.Node().Pos())
	if pkg, ok := obj.(*types.PkgName); !ok || pkg.Imported() != imp {
		return ""
	}
	return name + "."
}

func importDecl(file *ast.File, spec *ast.ImportSpec) *ast.GenDecl {
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && covers(d, spec) {
			return d
		}
	}
	return nil
}
