package vet

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// The facts hold what one package of a module needs to know of another. They
// are small and few: most packages export none.

// UnboundedClient says that a function returns, as its result number Result, an
// http.Client that has no timeout.
type UnboundedClient struct{ Result int }

// WritesClientParam says that a function sets Field of its parameter number
// Index, an *http.Client or *http.Transport.
type WritesClientParam struct {
	Index int
	Field string
}

// GlobalResult says that the first result of a function is always the global of
// that name, such as http.DefaultClient.
type GlobalResult struct{ Name string }

// Factory says that a package declares itself, by a //offtake:factory comment,
// to be one that may build clients.
type Factory struct{}

// AFact marks the type as a fact.
func (*UnboundedClient) AFact() {}

// AFact marks the type as a fact.
func (*WritesClientParam) AFact() {}

// AFact marks the type as a fact.
func (*GlobalResult) AFact() {}

// AFact marks the type as a fact.
func (*Factory) AFact() {}

func (f *UnboundedClient) String() string   { return fmt.Sprintf("unboundedClient(%d)", f.Result) }
func (f *WritesClientParam) String() string { return fmt.Sprintf("writes(%d, %s)", f.Index, f.Field) }
func (f *GlobalResult) String() string      { return "global(" + f.Name + ")" }
func (*Factory) String() string             { return "factory" }

var (
	_ analysis.Fact = (*UnboundedClient)(nil)
	_ analysis.Fact = (*WritesClientParam)(nil)
	_ analysis.Fact = (*GlobalResult)(nil)
	_ analysis.Fact = (*Factory)(nil)
)

func (p *pass) exportFacts() {
	if _, ok := p.factoryComment(); ok {
		p.ExportPackageFact(&Factory{})
	}
	for fn, decl := range p.decls {
		if !fn.Exported() {
			continue
		}
		if name := p.globalResult(fn); name != "" {
			p.ExportObjectFact(fn, &GlobalResult{Name: name})
		}
		results := fn.Signature().Results()
		for i := range results.Len() {
			if isClient(results.At(i).Type()) && p.returnsUnbounded(fn, i) {
				p.ExportObjectFact(fn, &UnboundedClient{Result: i})
				break
			}
		}
		params := fn.Signature().Params()
		for i := range params.Len() {
			if field := p.writesOwnParam(decl.Node().(*ast.FuncDecl), params.At(i)); field != "" {
				p.ExportObjectFact(fn, &WritesClientParam{Index: i, Field: field})
				break
			}
		}
	}
}

// returnsUnbounded reports whether result i is, on every way out, a client of
// the function's own without a timeout.
func (p *pass) returnsUnbounded(fn *types.Func, i int) bool {
	t := newTrail()
	if !p.followResult(t, fn, p.decls[fn], i) || len(t.leaves) == 0 {
		return false
	}
	var u unbounded
	for _, leaf := range t.leaves {
		if !p.noTimeout(leaf, &u) {
			return false
		}
	}
	return p.harmless(t, make(map[*types.Var]bool), boundsClient)
}

// writesParam names the field that fn sets of its parameter i, or "".
func (p *pass) writesParam(fn *types.Func, i int) string {
	if decl, ok := p.decls[fn]; ok {
		if params := fn.Signature().Params(); i < params.Len() {
			return p.writesOwnParam(decl.Node().(*ast.FuncDecl), params.At(i))
		}
		return ""
	}
	var fact WritesClientParam
	if fn.Pkg() != p.Pkg && p.sameModule(fn.Pkg()) && p.ImportObjectFact(fn, &fact) && fact.Index == i {
		return fact.Field
	}
	return ""
}

// writesOwnParam names the field of param that decl sets while it still holds
// what the caller gave.
func (p *pass) writesOwnParam(decl *ast.FuncDecl, param *types.Var) string {
	if !isPointer(param.Type()) || !holdsReference(param.Type()) || p.comparedWithGlobal(param) {
		return ""
	}
	var writes []use
	var kills []ast.Node
	for _, c := range p.uses[param] {
		if f := p.enclosingFunc(c); !f.Valid() || f.Node() != decl {
			continue
		}
		switch u := p.useOf(c); u.fate {
		case wrote:
			writes = append(writes, u)
		case defined:
			kills = append(kills, c.Parent().Node())
		}
	}
	for _, w := range writes {
		if w.field != "*" && !p.conditions(w.at, p.decls[p.TypesInfo.Defs[decl.Name].(*types.Func)])[param] && reaches(decl.Body, nil, w.at.Node(), kills) {
			return w.field
		}
	}
	return ""
}

// sameModule reports whether pkg belongs to the module under analysis. Facts of
// others are not used: their code is theirs to fix.
func (p *pass) sameModule(pkg *types.Package) bool {
	if p.Module == nil || p.Module.Path == "" {
		return true
	}
	return pkg != nil && (pkg.Path() == p.Module.Path || strings.HasPrefix(pkg.Path(), p.Module.Path+"/"))
}
