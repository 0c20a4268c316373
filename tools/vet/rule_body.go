package vet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// checkCancel is OT701: a function that returns a response, or its body, whose
// context it has cancelled on the way out. Reading that body fails, unless all
// of it happened to be in a buffer.
func (p *pass) checkCancel(c inspector.Cursor, body *ast.BlockStmt) {
	if body == nil || !p.returnsResponse(c) || !p.bodyIsWanted(c) {
		return
	}
	for def := range c.Preorder((*ast.DeferStmt)(nil)) {
		if p.enclosingFunc(def) != c || def.ParentEdgeKind() != edge.BlockStmt_List || def.Parent().Node() != body {
			continue
		}
		ctx := p.canceledBy(def.Node().(*ast.DeferStmt).Call)
		if ctx == nil {
			continue
		}
		for ret := range c.Preorder((*ast.ReturnStmt)(nil)) {
			if p.enclosingFunc(ret) == c && ret.Node().Pos() > def.Node().Pos() && p.returnsBodyOf(ret, ctx) {
				p.report("OT701", ret.Node(), nil, "the response is returned, but the deferred cancel of %s ends it before its body can be read", ctx.Name())
			}
		}
	}
}

func (p *pass) returnsResponse(f inspector.Cursor) bool {
	sig := p.signature(f)
	if sig == nil {
		return false
	}
	for v := range sig.Results().Variables() {
		if isNamed(v.Type(), pkgHTTP, "Response") {
			return true
		}
	}
	return false
}

// bodyIsWanted reports whether someone reads the body of what f returns. Many
// look at the status alone, so one of the callers must be seen to do it. Of an
// exported function without callers here it is taken for granted.
func (p *pass) bodyIsWanted(f inspector.Cursor) bool {
	decl, ok := f.Node().(*ast.FuncDecl)
	if !ok {
		return false
	}
	fn, ok := p.TypesInfo.Defs[decl.Name].(*types.Func)
	if !ok {
		return false
	}
	called := false
	for _, c := range p.uses[fn] {
		if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
			c = c.Parent()
		}
		if c.ParentEdgeKind() != edge.CallExpr_Fun {
			continue
		}
		called = true
		resp := p.assignedTo(c.Parent(), 0)
		for _, use := range p.uses[resp] {
			if p.useOf(use).field == "Body" && !isClosed(use) {
				return true
			}
		}
	}
	return !called && fn.Exported() && p.Pkg.Name() != "main"
}

// isClosed reports whether the use of a response at c is resp.Body.Close.
func isClosed(c inspector.Cursor) bool {
	sel, ok := c.Parent().Parent().Node().(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Close"
}

// canceledBy returns the context variable that calling this cancels, if the two
// were made together.
func (p *pass) canceledBy(call *ast.CallExpr) *types.Var {
	cancel, ok := p.object(call.Fun).(*types.Var)
	if !ok || !isNamed(cancel.Type(), pkgContext, "CancelFunc") {
		return nil
	}
	var ctx *types.Var
	for _, c := range p.uses[cancel] {
		if p.useOf(c).fate != defined {
			continue
		}
		assign, ok := c.Parent().Node().(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 2 || len(assign.Rhs) != 1 || ctx != nil {
			return nil
		}
		ctx, _ = p.object(assign.Lhs[0]).(*types.Var)
	}
	return ctx
}

// returnsBodyOf reports whether a return hands out a response to a request that
// carries ctx, with its body neither read nor replaced.
func (p *pass) returnsBodyOf(ret inspector.Cursor, ctx *types.Var) bool {
	for e := range ret.Children() {
		switch n := ast.Unparen(e.Node().(ast.Expr)).(type) {
		case *ast.CallExpr: // return client.Do(req)
			if p.sendsWith(n, ctx) {
				return true
			}
		case *ast.Ident:
			resp, ok := p.object(n).(*types.Var)
			if !ok || !isNamed(resp.Type(), pkgHTTP, "Response") || !p.untouched(resp) || p.onError(ret) {
				continue
			}
			values, ok := p.sources(resp)
			if !ok || len(values) != 1 {
				continue
			}
			if call, ok := values[0].expr.(*ast.CallExpr); ok && p.sendsWith(call, ctx) {
				return true
			}
		}
	}
	return false
}

// sendsWith reports whether a call sends a request made with ctx.
func (p *pass) sendsWith(call *ast.CallExpr, ctx *types.Var) bool {
	if len(call.Args) != 1 || p.sends(call) != "Do" {
		return false
	}
	arg := ast.Unparen(call.Args[0])
	if with, ok := arg.(*ast.CallExpr); ok {
		fn := p.callee(with)
		return (isMethod(fn, pkgHTTP, "Request", "WithContext") || isMethod(fn, pkgHTTP, "Request", "Clone")) &&
			len(with.Args) == 1 && p.object(with.Args[0]) == ctx
	}
	req, ok := p.object(arg).(*types.Var)
	if !ok {
		return false
	}
	values, ok := p.sources(req)
	if !ok || len(values) != 1 {
		return false
	}
	made, ok := values[0].expr.(*ast.CallExpr)
	return ok && isFunc(p.callee(made), pkgHTTP, "NewRequestWithContext") && len(made.Args) == 4 &&
		p.object(made.Args[0]) == ctx && p.prefix(made.Args[1]) != "HEAD"
}

// untouched reports whether the response is only looked at: its body is never
// mentioned, and nobody else gets hold of it.
func (p *pass) untouched(resp *types.Var) bool {
	for _, c := range p.uses[resp] {
		switch u := p.useOf(c); u.fate {
		case defined, returned:
		case read:
			if u.field == "Body" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// onError reports whether a return stands where an error is handled: then there
// is no response.
func (p *pass) onError(ret inspector.Cursor) bool {
	for at := range ret.Enclosing() {
		if at.ParentEdgeKind() == edge.IfStmt_Body && p.asksForEnd(at.Parent().Node().(*ast.IfStmt).Cond) {
			return true
		}
	}
	return false
}

// checkIdleClose is OT702.
func (p *pass) checkIdleClose(call *ast.CallExpr) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "CloseIdleConnections" {
		return
	}
	if name := p.global(sel.X); name != "" {
		p.report("OT702", call, nil, "CloseIdleConnections on %s closes the idle connections of the whole process", name)
	}
}
