package vet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/inspector"
)

// sends is the name of the client's method that a call is, or "". offtake's own
// client has methods of these names beside those of the client that it embeds.
func (p *pass) sends(call *ast.CallExpr) string {
	return p.sendingMethod(p.callee(call))
}

func (p *pass) sendingMethod(fn *types.Func) string {
	for _, name := range []string{"Get", "Head", "Post", "PostForm", "Do"} {
		if isMethod(fn, pkgHTTP, "Client", name) || isMethod(fn, pkgHTTPClient, "Client", name) {
			return name
		}
	}
	return ""
}

// unboundedRequest reports whether the request e has no context, or the
// background, and nothing in sight gives it another.
func (p *pass) unboundedRequest(e ast.Expr) bool {
	made := func(v value) bool {
		call, ok := v.expr.(*ast.CallExpr)
		return ok && p.makesUnbounded(call)
	}
	return p.proved(e, 0, made, bindsRequest)
}

// makesUnbounded reports whether a call makes a request that has no bound.
func (p *pass) makesUnbounded(call *ast.CallExpr) bool {
	switch fn := p.callee(call); {
	case isFunc(fn, pkgHTTP, "NewRequest"):
		return !p.loopbackArg(call, 1)
	case isFunc(fn, pkgHTTP, "NewRequestWithContext"):
		return len(call.Args) == 4 && p.isBackground(call.Args[0]) && !p.loopbackArg(call, 2)
	}
	return false
}

func (p *pass) loopbackArg(call *ast.CallExpr, i int) bool {
	c, ok := p.cursorOf(call)
	return ok && i < len(call.Args) && p.loopback(c, call.Args[i])
}

// isBackground reports whether a context is literally the background, or a
// variable that is never anything else. A derived context counts as bounded: we
// do not chase deadlines.
func (p *pass) isBackground(e ast.Expr) bool {
	t, ok := p.trace(e, 0)
	if !ok || len(t.leaves) == 0 {
		return false
	}
	for _, leaf := range t.leaves {
		if leaf.expr == nil || p.background(leaf.expr) == "" {
			return false
		}
	}
	return true
}

// bindsRequest is a use that may give a request a context, or that takes it out
// of sight.
func bindsRequest(u use) bool {
	switch u.fate {
	case wrote:
		return u.field == "*" || u.field == "Cancel"
	case called:
		return u.method.Name() == "WithContext" || u.method.Name() == "Clone" || u.call == nil
	}
	return false
}

// sinks reports whether the request made by the call at c is sent, and by
// nothing that could give it a context. A request that is only built, signed or
// handed on is none of our business.
func (p *pass) sinks(c inspector.Cursor) bool {
	req := p.assignedTo(c, 0)
	if req == nil {
		return false
	}
	t := newTrail()
	t.holders[req] = true
	if !p.inSight(req) || !p.harmless(t, make(map[*types.Var]bool), bindsRequest) {
		return false
	}
	return p.isSent(req, make(map[*types.Var]bool))
}

// isSent reports whether some use of the request sends it.
func (p *pass) isSent(req *types.Var, seen map[*types.Var]bool) bool {
	if seen[req] {
		return false
	}
	seen[req] = true
	for _, c := range p.uses[req] {
		u := p.useOf(c)
		if u.fate != passed {
			continue
		}
		if fn := p.callee(u.call); isSender(fn) && !p.inThisPackage(fn) {
			return true
		}
		if param := p.param(u.call, u.arg); param != nil && p.isSent(param, seen) {
			return true
		}
	}
	return false
}

// inThisPackage reports whether what fn does is in sight.
func (p *pass) inThisPackage(fn *types.Func) bool {
	_, ok := p.decls[fn]
	return ok
}

// isSender reports whether fn takes a request and returns its response: a
// client's Do, a RoundTrip, or an interface made after them.
func isSender(fn *types.Func) bool {
	if fn == nil || fn.Signature().Recv() == nil {
		return false
	}
	sig := fn.Signature()
	return sig.Params().Len() == 1 && isRequest(sig.Params().At(0).Type()) &&
		sig.Results().Len() == 2 && isNamed(sig.Results().At(0).Type(), pkgHTTP, "Response")
}

// assignedTo returns the variable that result i of the call at c is assigned
// to, or nil.
func (p *pass) assignedTo(c inspector.Cursor, i int) *types.Var {
	var names []ast.Expr
	switch n := c.Parent().Node().(type) {
	case *ast.AssignStmt:
		if len(n.Rhs) == 1 {
			names = n.Lhs
		}
	case *ast.ValueSpec:
		for _, id := range n.Names {
			if len(n.Values) == 1 {
				names = append(names, id)
			}
		}
	}
	if i >= len(names) {
		return nil
	}
	v, _ := p.object(names[i]).(*types.Var)
	return v
}
