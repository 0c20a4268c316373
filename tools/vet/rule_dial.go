package vet

import (
	"go/ast"
	"go/constant"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// checkDial is OT501 and OT504: a dial that waits as long as the kernel does,
// which is minutes for a lost SYN.
func (p *pass) checkDial(c inspector.Cursor, call *ast.CallExpr) {
	if len(call.Args) < 2 {
		return
	}
	name, addr := p.dials(call)
	if name == "" || p.loopback(c, addr) || p.loopbackTCPAddr(addr) {
		return
	}
	network := p.TypesInfo.Types[call.Args[0]].Value
	if network == nil || network.Kind() != constant.String {
		p.report("OT504", call, nil, "%s has no timeout (network is not constant)", name)
		return
	}
	// unix sockets lose no packets, and a udp "dial" sends none.
	if strings.HasPrefix(constant.StringVal(network), "tcp") {
		p.report("OT501", call, nil, "%s has no timeout: a lost SYN blocks for minutes", name)
	}
}

// dials names the unbounded dial that a call is, with its address.
func (p *pass) dials(call *ast.CallExpr) (name string, addr ast.Expr) {
	fn := p.callee(call)
	switch {
	case isFunc(fn, pkgNet, "Dial"):
		return "net.Dial", call.Args[1]
	case isFunc(fn, pkgTLS, "Dial"):
		return "tls.Dial", call.Args[1]
	case isFunc(fn, pkgNet, "DialTCP") && len(call.Args) == 3:
		return "net.DialTCP", call.Args[2]
	case isMethod(fn, pkgNet, "Dialer", "Dial"):
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && p.unboundedDialer(sel.X) {
			return "net.Dialer.Dial without Timeout", call.Args[1]
		}
	}
	return "", nil
}

// unboundedDialer reports whether the dialer has neither a timeout nor anything
// else that may end a dial early.
func (p *pass) unboundedDialer(e ast.Expr) bool {
	made := func(v value) bool {
		lit, ok := v.expr.(*ast.CompositeLit)
		return v.expr == nil || ok && len(lit.Elts) == 0
	}
	return p.proved(e, 0, made, func(u use) bool { return u.fate == wrote })
}
