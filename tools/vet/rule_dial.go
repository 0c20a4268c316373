package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// A dial is a call that connects, and that nothing bounds.
type dial struct {
	name    string
	network ast.Expr // nil is tcp
	addr    ast.Expr
}

// checkDial is OT501 and OT504: a dial that waits as long as the kernel does,
// which is minutes for a lost SYN.
func (p *pass) checkDial(c inspector.Cursor, call *ast.CallExpr) {
	d, ok := p.dials(call)
	if !ok || p.loopback(c, d.addr) || p.loopbackTCPAddr(d.addr) {
		return
	}
	if d.network == nil {
		p.report("OT501", call, nil, "%s has no timeout: a lost SYN blocks for minutes", d.name)
		return
	}
	network := p.TypesInfo.Types[d.network].Value
	if network == nil || network.Kind() != constant.String {
		p.report("OT504", call, nil, "%s has no timeout (network is not constant)", d.name)
		return
	}
	// unix sockets lose no packets, and a udp "dial" sends none.
	if strings.HasPrefix(constant.StringVal(network), "tcp") {
		p.report("OT501", call, nil, "%s has no timeout: a lost SYN blocks for minutes", d.name)
	}
}

// dials reports whether a call is an unbounded dial.
func (p *pass) dials(call *ast.CallExpr) (dial, bool) {
	fn, args := p.callee(call), call.Args
	if fn == nil || fn.Pkg() == nil {
		return dial{}, false
	}
	name := fn.Pkg().Name() + "." + fn.Name()
	switch {
	case len(args) >= 2 && (isFunc(fn, pkgNet, "Dial") || isFunc(fn, pkgTLS, "Dial") || isFunc(fn, pkgRPC, "Dial") || isFunc(fn, pkgRPC, "DialHTTP")):
		return dial{name, args[0], args[1]}, true
	case isFunc(fn, pkgNet, "DialTCP") && len(args) == 3:
		return dial{name, args[0], args[2]}, true
	case (isFunc(fn, pkgSMTP, "Dial") || isFunc(fn, pkgSMTP, "SendMail")) && len(args) > 0:
		return dial{name, nil, args[0]}, true
	case isFunc(fn, pkgTLS, "DialWithDialer") && len(args) == 4 && p.unboundedDialer(args[0]):
		return dial{name + " with a net.Dialer without Timeout", args[1], args[2]}, true
	}
	return p.methodDials(call, fn)
}

// methodDials is dials for the methods of net.Dialer and tls.Dialer.
func (p *pass) methodDials(call *ast.CallExpr, fn *types.Func) (dial, bool) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return dial{}, false
	}
	args := call.Args
	for _, typ := range []string{pkgNet, pkgTLS} {
		switch {
		case isMethod(fn, typ, "Dialer", "Dial") && len(args) == 2:
		case isMethod(fn, typ, "Dialer", "DialContext") && len(args) == 3 && p.isBackground(args[0]):
			args = args[1:]
		default:
			continue
		}
		if p.unboundedDialer(sel.X) {
			return dial{fn.Pkg().Name() + ".Dialer." + fn.Name() + " without Timeout", args[0], args[1]}, true
		}
	}
	return dial{}, false
}

// unboundedDialer reports whether the dialer, of net or crypto/tls, has neither a
// timeout nor anything else that may end a dial early.
func (p *pass) unboundedDialer(e ast.Expr) bool {
	bounds := []string{"Timeout", "Deadline", "Cancel", "Control", "ControlContext", "NetDialer", "*"}
	made := func(v value) bool {
		switch e := v.expr.(type) {
		case nil:
			return true
		case *ast.CallExpr:
			return p.isNew(e)
		case *ast.CompositeLit:
			return !slices.ContainsFunc(e.Elts, func(elt ast.Expr) bool {
				kv, ok := elt.(*ast.KeyValueExpr)
				return !ok || slices.Contains(bounds, keyName(kv))
			})
		}
		return false
	}
	return p.proved(e, 0, made, func(u use) bool { return u.fate == wrote && slices.Contains(bounds, u.field) })
}
