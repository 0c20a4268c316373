package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
)

// checkDefaultCall is OT101: http.Get and its kin, as functions or as methods of
// http.DefaultClient.
func (p *pass) checkDefaultCall(c inspector.Cursor, call *ast.CallExpr) {
	fn := p.callee(call)
	if fn == nil {
		fn, _ = p.calledValue(call)
	}
	if fn == nil || len(call.Args) == 0 || p.loopback(c, call.Args[0]) {
		return
	}
	for _, name := range []string{"Get", "Head", "Post", "PostForm"} {
		if isFunc(fn, pkgHTTP, name) && !p.defaultReplaced() {
			fix := p.factoryFix(c, call, name)
			p.report("OT101", call, fix, "http.%s uses http.DefaultClient: no timeout and no context", name)
		}
	}
}

// checkClientCall is OT102, OT202 and OT601: a client without a timeout sends a
// request without a bound. Neither alone is a defect.
func (p *pass) checkClientCall(c inspector.Cursor, call *ast.CallExpr) {
	name, client, args := p.sending(call)
	if name == "" || len(args) == 0 {
		return
	}
	if name == "Do" || name == "RoundTrip" {
		if !p.unboundedRequest(args[0]) {
			return
		}
	} else if p.loopback(c, args[0]) {
		return
	}
	if name == "RoundTrip" {
		if !p.defaultReplaced() && !p.isStream(c) {
			p.report("OT102", call, nil, "http.DefaultTransport.RoundTrip is given a request that has no context: nothing bounds this call")
		}
		return
	}
	u, ok := p.unboundedClient(client, 0)
	switch {
	case !ok || p.isStream(c):
	case u.global && p.global(client) != "" && name != "Do":
		p.report("OT101", call, nil, "http.DefaultClient.%s has no timeout and no context", name)
	case u.global:
		p.report("OT102", call, nil, "http.DefaultClient is used for %s with a request that has no context: nothing bounds this call", name)
	case u.from != nil:
		p.report("OT601", call, nil, "%s.%s returns an http.Client without Timeout, used here for Client.%s: nothing bounds this call", u.from.Pkg().Name(), u.from.Name(), name)
	default:
		p.report("OT202", call, nil, "http.Client without Timeout is used for Client.%s: nothing bounds this call (Timeout bounds the body too; for a stream, use a context)", name)
	}
}

// sending returns the method of a client that a call runs, the client, and the
// other arguments: for c.Get(u), (*http.Client).Get(c, u), and get(u) after
// get := c.Get. A RoundTrip counts if it is that of http.DefaultTransport.
func (p *pass) sending(call *ast.CallExpr) (name string, client ast.Expr, args []ast.Expr) {
	if fn, recv := p.calledValue(call); fn != nil {
		if recv == nil {
			return "", nil, nil
		}
		return p.sendingMethod(fn), recv, call.Args
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return "", nil, nil
	}
	fn := p.callee(call)
	if fn != nil && fn.Name() == "RoundTrip" && p.global(sel.X) == "http.DefaultTransport" {
		return "RoundTrip", sel.X, call.Args
	}
	name = p.sendingMethod(fn)
	if p.TypesInfo.Types[sel.X].IsType() && len(call.Args) > 0 {
		return name, call.Args[0], call.Args[1:]
	}
	return name, sel.X, call.Args
}

// calledValue returns the function, and the receiver if it is a method, that a
// call of a variable runs, if the variable never holds another.
func (p *pass) calledValue(call *ast.CallExpr) (*types.Func, ast.Expr) {
	v, ok := p.object(call.Fun).(*types.Var)
	if !ok || !p.follows(v) {
		return nil, nil
	}
	values, ok := p.sources(v)
	if !ok || len(values) != 1 || values[0].expr == nil {
		return nil, nil
	}
	e := ast.Unparen(values[0].expr)
	fn, _ := p.object(e).(*types.Func)
	if fn == nil || fn.Signature().Recv() == nil {
		return fn, nil
	}
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || p.TypesInfo.Types[sel.X].IsType() {
		return nil, nil
	}
	return fn, sel.X
}

// isStream reports whether the function around c speaks of server-sent events:
// then no bound is the point.
func (p *pass) isStream(c inspector.Cursor) bool {
	f := p.enclosingFunc(c)
	if !f.Valid() {
		return false
	}
	for lit := range f.Preorder((*ast.BasicLit)(nil)) {
		if slices.Contains([]string{`"text/event-stream"`, `"application/x-ndjson"`}, lit.Node().(*ast.BasicLit).Value) {
			return true
		}
	}
	return false
}
