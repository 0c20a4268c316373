package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// A source is a context that code at some place can name.
type source struct {
	name string // how to spell it: ctx, r.Context()
	only bool   // no other context is in scope, so there is no choice to make
}

// contextAt returns the context in scope at c: a variable or parameter of the
// innermost function. It does not look out of a closure: one that is handed to
// someone else, deferred, or run in a goroutine may outlive the function around
// it, and then its context is the wrong one.
func (p *pass) contextAt(c inspector.Cursor) (source, bool) {
	f := p.enclosingFunc(c)
	for f.Valid() && isCalledInPlace(f) {
		f = p.enclosingFunc(f.Parent())
	}
	if !f.Valid() || p.isDetached(c, f) {
		return source{}, false
	}
	scope := p.Pkg.Scope().Innermost(c.Node().Pos())
	var contexts, requests []string
	for ; scope != nil && scope != p.Pkg.Scope(); scope = scope.Parent() {
		for _, name := range scope.Names() {
			v, ok := scope.Lookup(name).(*types.Var)
			if !ok || name == "_" || !p.visible(v, c, f) {
				continue
			}
			switch {
			case isContext(v.Type()) && !p.isBackground(p.identOf(v)):
				contexts = append(contexts, name)
			case isRequest(v.Type()) && p.isParam(v):
				requests = append(requests, name+".Context()")
			}
		}
	}
	// A context beside a request was most likely derived from it.
	found := contexts
	if len(found) == 0 {
		found = requests
	}
	if len(found) == 0 {
		return source{}, false
	}
	return source{name: found[0], only: len(found) == 1}, true
}

// visible reports whether v is a variable of f that c can name.
func (p *pass) visible(v *types.Var, c, f inspector.Cursor) bool {
	if v.Pos() < f.Node().Pos() || v.Pos() >= c.Node().Pos() {
		return false
	}
	_, obj := p.Pkg.Scope().Innermost(c.Node().Pos()).LookupParent(v.Name(), c.Node().Pos())
	return obj == v
}

// identOf returns a mention of v, for p.trace.
func (p *pass) identOf(v *types.Var) ast.Expr {
	if uses := p.uses[v]; len(uses) > 0 {
		return uses[0].Node().(*ast.Ident)
	}
	return &ast.BadExpr{}
}

func (p *pass) isParam(v *types.Var) bool {
	uses := p.uses[v]
	return len(uses) > 0 && uses[0].ParentEdgeKind() == edge.Field_Names
}

// isCalledInPlace reports whether f is func(){…}(), and neither go nor defer.
func isCalledInPlace(f inspector.Cursor) bool {
	if f.ParentEdgeKind() != edge.CallExpr_Fun {
		return false
	}
	switch f.Parent().ParentEdgeKind() {
	case edge.GoStmt_Call, edge.DeferStmt_Call:
		return false
	}
	return true
}

// isDetached reports whether the code at c has left its context on purpose: it
// runs once the context is done, or it cleans up.
func (p *pass) isDetached(c, f inspector.Cursor) bool {
	if decl, ok := f.Node().(*ast.FuncDecl); ok && cleansUp(decl.Name.Name) {
		return true
	}
	for at := range c.Enclosing() {
		if at == f {
			break
		}
		switch at.ParentEdgeKind() {
		case edge.GoStmt_Call, edge.DeferStmt_Call:
			return true
		case edge.CommClause_Body:
			if p.waitsForDone(at.Parent().Node().(*ast.CommClause).Comm) {
				return true
			}
		case edge.IfStmt_Body:
			if cond := at.Parent().Node().(*ast.IfStmt).Cond; p.asksForEnd(cond) || p.asksForNone(cond) {
				return true
			}
		}
		for prev, ok := prevStmt(at); ok; prev, ok = prevStmt(prev) {
			if p.waitsForDone(prev.Node()) || p.answers(prev.Node()) {
				return true
			}
		}
	}
	return false
}

func prevStmt(c inspector.Cursor) (inspector.Cursor, bool) {
	switch c.ParentEdgeKind() {
	case edge.BlockStmt_List, edge.CaseClause_Body, edge.CommClause_Body:
		prev, ok := c.PrevSibling()
		return prev, ok && prev.ParentEdgeKind() == c.ParentEdgeKind()
	}
	return inspector.Cursor{}, false
}

// cleansUp reports whether a name speaks of ending something. What ends a thing
// often runs when the context that started it is gone.
func cleansUp(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"close", "shutdown", "stop", "cleanup", "teardown", "rollback", "release", "revoke",
		"unlock", "abort", "cancel", "drain", "flush", "delete", "remove", "destroy", "deregister", "unregister", "async"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// waitsForDone reports whether a statement receives from some ctx.Done(). A
// select only waits for it where it says so, so its clauses are not searched.
func (p *pass) waitsForDone(n ast.Node) bool {
	var e ast.Expr
	switch s := n.(type) {
	case *ast.ExprStmt:
		e = s.X
	case *ast.AssignStmt:
		e = s.Rhs[0]
	}
	recv, ok := ast.Unparen(e).(*ast.UnaryExpr)
	if !ok || recv.Op != token.ARROW {
		return false
	}
	call, ok := ast.Unparen(recv.X).(*ast.CallExpr)
	return ok && p.isContextMethod(call, "Done")
}

// asksForNone reports whether a condition asks if a context is nil: then there is
// none to pass on.
func (p *pass) asksForNone(cond ast.Expr) bool {
	found := false
	ast.Inspect(cond, func(n ast.Node) bool {
		if cmp, ok := n.(*ast.BinaryExpr); ok {
			found = found || cmp.Op == token.EQL && p.TypesInfo.Types[cmp.Y].IsNil() && isContext(p.TypesInfo.TypeOf(cmp.X))
		}
		return !found
	})
	return found
}

// answers reports whether a statement answers a request: what a handler sends
// after that is not for whoever waited, and may go on when they have left.
func (p *pass) answers(n ast.Node) bool {
	stmt, ok := n.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := ast.Unparen(stmt.X).(*ast.CallExpr)
	return ok && isMethod(p.callee(call), pkgHTTP, "ResponseWriter", "WriteHeader")
}

// asksForEnd reports whether a condition asks about an error or about the end of
// a context.
func (p *pass) asksForEnd(cond ast.Expr) bool {
	found := false
	ast.Inspect(cond, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || p.isContextMethod(n, "Err") || isFunc(p.callee(n), pkgContext, "Cause") || isFunc(p.callee(n), "errors", "Is")
		case *ast.BinaryExpr:
			found = found || n.Op == token.NEQ && p.TypesInfo.Types[n.Y].IsNil() && types.Identical(p.TypesInfo.TypeOf(n.X), types.Universe.Lookup("error").Type())
		}
		return !found
	})
	return found
}

func (p *pass) isContextMethod(call *ast.CallExpr, name string) bool {
	return isMethod(p.callee(call), pkgContext, "Context", name)
}
