package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// checkOwnField is OT801: a write to a field of the http.Client inside of
// offtake's own. Its Timeout would cut streams and hide the plan's deadline; its
// Transport is the gate itself.
func (p *pass) checkOwnField(lhs ast.Expr) {
	sel, ok := ast.Unparen(lhs).(*ast.SelectorExpr)
	if !ok || !isClientField(p.TypesInfo, sel) {
		return
	}
	if strings.HasPrefix(p.Pkg.Path(), pkgHTTPClient) || !p.throughOwnClient(sel) && !p.isOwnInner(sel.X) {
		return
	}
	switch sel.Sel.Name {
	case "Timeout":
		p.report("OT801", lhs, nil, "Timeout on offtake's own client: state it as the plan's Deadline, which bounds queueing and retries too")
	case "Transport":
		p.report("OT801", lhs, nil, "Transport of offtake's own client replaced: no call has a place, a queue or a deadline any more")
	}
}

// throughOwnClient reports whether a selector passes through offtake's client on
// its way to the field, as its operand or as something embedded in that.
func (p *pass) throughOwnClient(sel *ast.SelectorExpr) bool {
	selection, ok := p.TypesInfo.Selections[sel]
	if !ok {
		return false
	}
	t := selection.Recv()
	for _, i := range selection.Index() {
		if isNamed(t, pkgHTTPClient, "Client") {
			return true
		}
		fields, ok := structOf(t)
		if !ok {
			return false
		}
		t = fields.Field(i).Type()
	}
	return false
}

// isOwnInner reports whether e is the http.Client inside of offtake's, or a
// variable of this package that may hold it.
func (p *pass) isOwnInner(e ast.Expr) bool {
	e = strip(e)
	if sel, ok := e.(*ast.SelectorExpr); ok && isOwnField(p.object(sel)) {
		return true
	}
	v, ok := p.object(e).(*types.Var)
	if !ok || v.Pkg() != p.Pkg || !isPointer(v.Type()) {
		return false
	}
	values, _ := p.sources(v)
	return slices.ContainsFunc(values, func(from value) bool {
		return from.expr != nil && from.result == 0 && isOwnField(p.object(strip(from.expr)))
	})
}

// isOwnField reports whether obj is the embedded field of offtake's client.
func isOwnField(obj types.Object) bool {
	field, ok := obj.(*types.Var)
	return ok && field.IsField() && field.Embedded() && isClient(field.Type()) && field.Pkg() != nil && field.Pkg().Path() == pkgHTTPClient
}

// isClientField reports whether a selector denotes a field of http.Client.
func isClientField(info *types.Info, sel *ast.SelectorExpr) bool {
	field, ok := info.Uses[sel.Sel].(*types.Var)
	return ok && field.IsField() && field.Pkg() != nil && field.Pkg().Path() == pkgHTTP
}

// checkBusyAnswer is OT803: an error of offtake's client that is answered with a
// fixed 5xx, in a function that never asks whether it was a refusal. To whoever
// is in front, that makes a busy service a broken one.
func (p *pass) checkBusyAnswer(c inspector.Cursor, body *ast.BlockStmt) {
	if _, on := p.on["OT803"]; !on || body == nil || !p.callsOwnClient(c) || p.asksForBusy(c) {
		return
	}
	for call := range c.Preorder((*ast.CallExpr)(nil)) {
		n := call.Node().(*ast.CallExpr)
		if p.enclosingFunc(call) != c || !p.onError(call) && !p.afterSuccess(call) {
			continue
		}
		fn := p.callee(n)
		var status ast.Expr
		switch {
		case isFunc(fn, pkgHTTP, "Error") && len(n.Args) == 3:
			status = n.Args[2]
		case isMethod(fn, pkgHTTP, "ResponseWriter", "WriteHeader") && len(n.Args) == 1:
			status = n.Args[0]
		default:
			continue
		}
		if v := p.TypesInfo.Types[status].Value; v != nil && constant.Compare(v, token.GEQ, constant.MakeInt64(500)) {
			p.report("OT803", n, nil, "an error of offtake's client is answered with %s: a refusal (offtake.ErrBusy) is 429, see admission.WriteError", v)
		}
	}
}

// callsOwnClient reports whether a function itself sends over offtake's client.
func (p *pass) callsOwnClient(f inspector.Cursor) bool {
	for call := range f.Preorder((*ast.CallExpr)(nil)) {
		n := call.Node().(*ast.CallExpr)
		sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr)
		if ok && p.enclosingFunc(call) == f && p.sends(n) != "" && isNamed(p.TypesInfo.TypeOf(sel.X), pkgHTTPClient, "Client") {
			return true
		}
	}
	return false
}

// asksForBusy reports whether a function mentions one of offtake's words for a
// refusal, or hands the answer to a function that does.
func (p *pass) asksForBusy(f inspector.Cursor) bool {
	for id := range f.Preorder((*ast.Ident)(nil)) {
		obj := p.TypesInfo.Uses[id.Node().(*ast.Ident)]
		if obj == nil || obj.Pkg() == nil {
			continue
		}
		if path := obj.Pkg().Path(); path == pkgOfftake || path == pkgOfftake+"/admission" {
			return true
		}
	}
	return false
}

// afterSuccess reports whether the code at c runs only because an "err == nil"
// was false: it is the else of one, or comes after one that returned.
func (p *pass) afterSuccess(c inspector.Cursor) bool {
	for at := range c.Enclosing() {
		if at.ParentEdgeKind() == edge.IfStmt_Else && p.asksForSuccess(at.Parent().Node().(*ast.IfStmt).Cond) {
			return true
		}
		for prev, ok := prevStmt(at); ok; prev, ok = prevStmt(prev) {
			stmt, ok := prev.Node().(*ast.IfStmt)
			if !ok || !p.asksForSuccess(stmt.Cond) || len(stmt.Body.List) == 0 {
				continue
			}
			if _, ends := stmt.Body.List[len(stmt.Body.List)-1].(*ast.ReturnStmt); ends {
				return true
			}
		}
	}
	return false
}

// asksForSuccess reports whether a condition is "err == nil".
func (p *pass) asksForSuccess(cond ast.Expr) bool {
	cmp, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	return ok && cmp.Op == token.EQL && p.TypesInfo.Types[cmp.Y].IsNil() &&
		types.Identical(p.TypesInfo.TypeOf(cmp.X), types.Universe.Lookup("error").Type())
}
