package vet

import (
	"go/ast"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
)

// checkDefaultCall is OT101: http.Get and its kin, as functions or as methods of
// http.DefaultClient.
func (p *pass) checkDefaultCall(c inspector.Cursor, call *ast.CallExpr) {
	fn := p.callee(call)
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
	name := p.sends(call)
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if name == "" || !ok || len(call.Args) == 0 {
		return
	}
	if name == "Do" {
		if !p.unboundedRequest(call.Args[0]) {
			return
		}
	} else if p.loopback(c, call.Args[0]) {
		return
	}
	u, ok := p.unboundedClient(sel.X, 0)
	switch {
	case !ok || p.isStream(c):
	case u.global && p.global(sel.X) != "" && name != "Do":
		p.report("OT101", call, nil, "http.DefaultClient.%s has no timeout and no context", name)
	case u.global:
		p.report("OT102", call, nil, "http.DefaultClient is used for %s with a request that has no context: nothing bounds this call", name)
	case u.from != nil:
		p.report("OT601", call, nil, "%s.%s returns an http.Client without Timeout, used here for Client.%s: nothing bounds this call", u.from.Pkg().Name(), u.from.Name(), name)
	default:
		p.report("OT202", call, nil, "http.Client without Timeout is used for Client.%s: nothing bounds this call (Timeout bounds the body too; for a stream, use a context)", name)
	}
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
