package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// loopback reports whether an address or URL names this machine. A call that
// stays on it loses no packet, and is most often a test's or a probe's.
func (p *pass) loopback(c inspector.Cursor, e ast.Expr) bool {
	if host := p.hostOf(e); host != nil {
		return p.loopback(c, host)
	}
	s := p.prefix(e)
	if _, after, ok := strings.Cut(s, "://"); ok {
		s = after
	}
	for _, host := range []string{"localhost", "127.", "[::1]", "::1"} {
		if strings.HasPrefix(s, host) {
			return true
		}
	}
	return s == "" && (p.isListenerAddr(e) || p.loopbackVar(c, e))
}

// hostOf returns the part that is the host in fmt.Sprintf("http://%s:%d", …),
// net.JoinHostPort(…) or "http://" + …, or nil.
func (p *pass) hostOf(e ast.Expr) ast.Expr {
	if sum, ok := ast.Unparen(e).(*ast.BinaryExpr); ok && sum.Op == token.ADD && p.TypesInfo.Types[e].Value == nil {
		if v := p.TypesInfo.Types[sum.X].Value; v != nil && v.Kind() == constant.String && strings.HasSuffix(constant.StringVal(v), "://") {
			return sum.Y
		}
		return p.hostOf(sum.X)
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(call.Args) < 2 {
		return nil
	}
	switch fn := p.callee(call); {
	case isFunc(fn, pkgNet, "JoinHostPort"):
		return call.Args[0]
	case isFunc(fn, "fmt", "Sprintf"):
		format := p.prefix(call.Args[0])
		if _, after, ok := strings.Cut(format, "://"); ok {
			format = after
		}
		if strings.HasPrefix(format, "%s") || strings.HasPrefix(format, "%v") {
			return call.Args[1]
		}
	}
	return nil
}

// prefix returns the constant text that e is known to start with: its value, its
// left operand, or the format or host of the call that makes it.
func (p *pass) prefix(e ast.Expr) string {
	e = ast.Unparen(e)
	if v := p.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return p.prefix(e.X)
		}
	case *ast.CallExpr:
		fn := p.callee(e)
		if len(e.Args) > 0 && (isFunc(fn, "fmt", "Sprintf") || isFunc(fn, pkgNet, "JoinHostPort")) {
			return p.prefix(e.Args[0])
		}
	}
	return ""
}

// loopbackVar reports whether e starts with a variable that holds a loopback
// address wherever it is assigned: in the function around c, or, for a parameter
// of a function that only this package can call, by every caller.
func (p *pass) loopbackVar(c inspector.Cursor, e ast.Expr) bool {
	e = ast.Unparen(e)
	for {
		sum, ok := e.(*ast.BinaryExpr)
		if !ok || sum.Op != token.ADD {
			break
		}
		e = ast.Unparen(sum.X)
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	v, ok := p.TypesInfo.Uses[id].(*types.Var)
	if !ok || v.IsField() || v.Parent() == p.Pkg.Scope() {
		return false
	}
	var decl inspector.Cursor
	for f := range c.Enclosing((*ast.FuncDecl)(nil)) {
		decl = f
	}
	if !decl.Valid() {
		return false
	}
	values := p.valuesIn(decl, v)
	if fn, i := p.paramOf(decl, v); fn != nil {
		args, ok := p.arguments(fn, i)
		if !ok || len(args) == 0 {
			return false
		}
		values = append(values, args...)
	}
	for _, from := range values {
		// One step only: an address that is passed on and on is configuration.
		if at, ok := p.cursorOf(from); !ok || !p.startsLocal(at, from) {
			return false
		}
	}
	return len(values) > 0
}

func (p *pass) startsLocal(c inspector.Cursor, e ast.Expr) bool {
	if p.prefix(e) != "" {
		return p.loopback(c, e)
	}
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	// A caller's own variable, as in url := "http://localhost"; call(url).
	v, ok := p.TypesInfo.Uses[id].(*types.Var)
	if !ok {
		return false
	}
	for f := range c.Enclosing((*ast.FuncDecl)(nil)) {
		values := p.valuesIn(f, v)
		for _, from := range values {
			if s := p.prefix(from); s == "" || !p.loopback(c, from) {
				return false
			}
		}
		return len(values) > 0
	}
	return false
}

// valuesIn returns what is assigned to v in the function decl. Its type may be
// any, so the index does not have it.
func (p *pass) valuesIn(decl inspector.Cursor, v *types.Var) []ast.Expr {
	var values []ast.Expr
	add := func(lhs ast.Expr, from []ast.Expr, n, i int) {
		id, ok := ast.Unparen(lhs).(*ast.Ident)
		if !ok || p.TypesInfo.ObjectOf(id) != v {
			return
		}
		if got, ok := pick(from, n, i); ok {
			values = append(values, got[0].expr)
		}
	}
	for c := range decl.Preorder((*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil)) {
		switch n := c.Node().(type) {
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				add(lhs, n.Rhs, len(n.Lhs), i)
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				add(name, n.Values, len(n.Names), i)
			}
		}
	}
	return values
}

// paramOf returns the function that decl declares and the number of its
// parameter v, or nil if v is none or the function may be called from elsewhere.
func (p *pass) paramOf(decl inspector.Cursor, v *types.Var) (*types.Func, int) {
	fn, ok := p.TypesInfo.Defs[decl.Node().(*ast.FuncDecl).Name].(*types.Func)
	if !ok || fn.Exported() && p.Pkg.Name() != "main" {
		return nil, 0
	}
	for i := range fn.Signature().Params().Len() {
		if fn.Signature().Params().At(i) == v {
			return fn, i
		}
	}
	return nil, 0
}

// arguments returns what all callers pass as parameter i of fn, or false if it
// is used as a value too.
func (p *pass) arguments(fn *types.Func, i int) ([]ast.Expr, bool) {
	var args []ast.Expr
	for _, c := range p.uses[fn] {
		if c.ParentEdgeKind() == edge.FuncDecl_Name {
			continue
		}
		if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
			c = c.Parent()
		}
		if c.ParentEdgeKind() != edge.CallExpr_Fun {
			return nil, false
		}
		call := c.Parent().Node().(*ast.CallExpr)
		if i >= len(call.Args) {
			return nil, false
		}
		args = append(args, call.Args[i])
	}
	return args, true
}

func (p *pass) cursorOf(e ast.Expr) (inspector.Cursor, bool) {
	for _, file := range p.indexed {
		if covers(file.Node(), e) {
			return file.FindNode(e)
		}
	}
	return inspector.Cursor{}, false
}

// isListenerAddr reports whether an address is one that this process listens on:
// l.Addr().String(), or l.Addr() itself.
func (p *pass) isListenerAddr(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if fn := p.callee(call); fn != nil && fn.Name() == "Addr" && fn.Signature().Recv() != nil {
				found = true
			}
		}
		return !found
	})
	return found
}

// loopbackTCPAddr is p.loopback for a *net.TCPAddr. One without an IP is this
// machine too.
func (p *pass) loopbackTCPAddr(e ast.Expr) bool {
	lit, ok := strip(e).(*ast.CompositeLit)
	if !ok || !isNamed(p.TypesInfo.TypeOf(lit), pkgNet, "TCPAddr") {
		return false
	}
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		if keyName(kv) == "IP" {
			return p.loopbackIP(kv.Value)
		}
	}
	return true
}

// loopbackIP knows net.IP{127, …}, net.IPv4(127, …) and net.ParseIP("127.…").
func (p *pass) loopbackIP(e ast.Expr) bool {
	switch e := strip(e).(type) {
	case *ast.CompositeLit:
		n, ok := int64(0), false
		if len(e.Elts) == 4 {
			n, ok = p.constantInt(e.Elts[0])
		}
		return ok && n == 127
	case *ast.CallExpr:
		if len(e.Args) == 0 {
			return false
		}
		n, ok := p.constantInt(e.Args[0])
		return isFunc(p.callee(e), pkgNet, "IPv4") && ok && n == 127 ||
			isFunc(p.callee(e), pkgNet, "ParseIP") && (strings.HasPrefix(p.prefix(e.Args[0]), "127.") || p.prefix(e.Args[0]) == "::1")
	case *ast.SelectorExpr:
		return isObject(p.object(e), pkgNet, "IPv6loopback")
	}
	return false
}
