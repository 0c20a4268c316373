package vet

import (
	"go/ast"
	"go/types"
	"iter"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// A pass is one package under analysis with its index.
type pass struct {
	*analysis.Pass
	opts *Options
	on   map[string]Rule

	// reported holds the files that rules speak about, indexed those whose uses
	// count. A generated file may assign to a variable, so it is indexed; a test
	// replaces a client on purpose, so it is not.
	reported, indexed []inspector.Cursor

	// uses holds every mention, declaration included, of the functions of this
	// package and of variables and fields whose type a rule follows.
	uses map[types.Object][]inspector.Cursor

	// elems holds the values given to fields without naming them.
	elems map[*types.Var][]ast.Expr

	decls map[*types.Func]inspector.Cursor

	findings     []finding
	suppressions []*suppression
}

func newPass(ap *analysis.Pass, o *Options) *pass {
	p := &pass{
		Pass:  ap,
		opts:  o,
		on:    o.enabled(),
		uses:  make(map[types.Object][]inspector.Cursor),
		elems: make(map[*types.Var][]ast.Expr),
		decls: make(map[*types.Func]inspector.Cursor),
	}
	in := ap.ResultOf[inspect.Analyzer].(*inspector.Inspector)
	for c := range in.Root().Children() {
		f := c.Node().(*ast.File)
		if !o.Tests && (p.isTestFile(f) || importsTesting(f)) {
			continue
		}
		p.indexed = append(p.indexed, c)
		if !isGenerated(f) {
			p.reported = append(p.reported, c)
		}
	}
	p.index()
	return p
}

// nodes visits the files that are reported on.
func (p *pass) nodes(kinds ...ast.Node) iter.Seq[inspector.Cursor] {
	return preorder(p.reported, kinds...)
}

func preorder(files []inspector.Cursor, kinds ...ast.Node) iter.Seq[inspector.Cursor] {
	return func(yield func(inspector.Cursor) bool) {
		for _, file := range files {
			for c := range file.Preorder(kinds...) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

func (p *pass) index() {
	for c := range preorder(p.indexed, (*ast.Ident)(nil), (*ast.CompositeLit)(nil), (*ast.FuncDecl)(nil)) {
		switch n := c.Node().(type) {
		case *ast.Ident:
			obj := origin(p.TypesInfo.ObjectOf(n))
			if p.follows(obj) {
				p.uses[obj] = append(p.uses[obj], c)
			}
		case *ast.CompositeLit:
			p.indexElems(n)
		case *ast.FuncDecl:
			if fn, ok := p.TypesInfo.Defs[n.Name].(*types.Func); ok && n.Body != nil {
				p.decls[fn] = c
			}
		}
	}
}

func (p *pass) indexElems(lit *ast.CompositeLit) {
	if len(lit.Elts) == 0 {
		return
	}
	if _, keyed := lit.Elts[0].(*ast.KeyValueExpr); keyed {
		return
	}
	fields, ok := structOf(p.TypesInfo.TypeOf(lit))
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		if i < fields.NumFields() {
			f := fields.Field(i).Origin()
			p.elems[f] = append(p.elems[f], e)
		}
	}
}

// structOf returns the struct beneath a type or a pointer to it: the type of
// an element of []*T{{…}} is the pointer.
func structOf(t types.Type) (*types.Struct, bool) {
	if t == nil {
		return nil, false
	}
	if ptr, ok := t.Underlying().(*types.Pointer); ok {
		t = ptr.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	return s, ok
}

// follows reports whether the index keeps the uses of obj. Most variables of a
// program never hold anything a rule asks about.
func (p *pass) follows(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Pkg() == p.Pkg
	case *types.Var:
		t := types.Unalias(obj.Type())
		if sig, ok := t.(*types.Signature); ok {
			return sig.Results().Len() == 2 && isNamed(sig.Results().At(0).Type(), pkgHTTP, "Response")
		}
		if ptr, ok := t.(*types.Pointer); ok {
			t = types.Unalias(ptr.Elem())
		}
		named, ok := t.(*types.Named)
		if !ok || named.Obj().Pkg() == nil {
			return false
		}
		switch named.Obj().Pkg().Path() {
		case pkgHTTP, pkgProxy, pkgContext, pkgNet, pkgTLS:
			return true
		}
	}
	return false
}

// relevant reports whether any rule could speak about pkg. It looks at imports
// alone, so that most of a program costs nothing.
func relevant(pkg *types.Package, o *Options) bool {
	for _, imp := range pkg.Imports() {
		path := imp.Path()
		switch path {
		case pkgHTTP, pkgProxy, pkgNet, pkgTLS, pkgSMTP, pkgRPC, pkgGRPC, pkgCapacity, pkgHTTPClient, pkgGRPCClient:
			return true
		}
		for name := range constructors(o) {
			if strings.HasPrefix(name, path+".") {
				return true
			}
		}
	}
	return false
}

// filename is where the source of f is, seen through the line directives that
// cgo writes.
func (p *pass) filename(f *ast.File) string {
	return p.Fset.Position(f.Package).Filename
}

// isTestFile reports whether a file is a test. Its name alone says nothing else:
// tester.go and mock.go are in many a product.
func (p *pass) isTestFile(f *ast.File) bool {
	return strings.HasSuffix(p.filename(f), "_test.go")
}

// importsTesting reports whether a file that is no test serves tests all the
// same, as an exported test helper does. An import of httptest is no proof: its
// recorder is in use in products.
func importsTesting(f *ast.File) bool {
	for _, spec := range f.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if path == "testing" {
			return true
		}
		for _, lib := range []string{"testify", "ginkgo", "gomega", "dockertest", "testcontainers"} {
			if strings.Contains(path, lib) {
				return true
			}
		}
	}
	return false
}

// isGenerated is [ast.IsGenerated], except that what cgo made of a hand-written
// file counts as hand-written.
func isGenerated(f *ast.File) bool {
	if !ast.IsGenerated(f) {
		return false
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() > f.Package {
				return false
			}
			if strings.HasPrefix(c.Text, "// Code generated ") && !strings.Contains(c.Text, "cmd/cgo;") {
				return true
			}
		}
	}
	return false
}

// testSupport reports whether the package serves only tests, or is an example or
// a developer's script, judged by the folders that lead to it inside of its
// module. What hangs there hangs in front of someone.
func (p *pass) testSupport() bool {
	if p.opts.Tests {
		return false
	}
	path := strings.TrimSuffix(p.Pkg.Path(), "_test")
	if p.Module != nil {
		path = strings.TrimPrefix(path, p.Module.Path)
	}
	parent := ""
	for dir := range strings.SplitSeq(path, "/") {
		if isTestDir(dir) || parent != "" && dir == parent+"test" || p.Pkg.Name() == "main" && isScriptDir(dir) {
			return true
		}
		parent = dir
	}
	return false
}

// isTestDir knows the names that by convention hold nothing but tests and what
// they need. A name that merely has test in it, as speedtest, is none; nor is
// integration, where products keep what they integrate with. Below foo, footest
// is one too, as httptest is below http.
func isTestDir(dir string) bool {
	switch dir {
	case "test", "tests", "testing", "e2e", "testdata", "testutil", "testutils", "testhelper", "testhelpers", "mock", "mocks", "fake", "fakes":
		return true
	}
	return false
}

func isScriptDir(dir string) bool {
	switch dir {
	case "example", "examples", "_example", "_examples", "hack", "script", "scripts", "gen", "tools":
		return true
	}
	return false
}
