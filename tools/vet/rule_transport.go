package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// checkTransportPerCall is OT206: a transport that a function builds, uses and
// drops. Its idle connections stay open, each with two goroutines, until the
// other side closes them.
func (p *pass) checkTransportPerCall(c inspector.Cursor, made ast.Expr) {
	if !isTransport(p.TypesInfo.TypeOf(made)) {
		return
	}
	if lit, ok := made.(*ast.CompositeLit); ok && !p.keepsIdle(lit) {
		return
	}
	f := p.enclosingFunc(c)
	if !f.Valid() || p.closesConnections(f) {
		return
	}
	l := local{pass: p, seen: make(map[*types.Var]bool)}
	if l.stays(c) && l.called && (l.returned || !p.runsOnce(f)) {
		p.report("OT206", made, nil, "http.Transport built on every call of %s and dropped: leaks an idle connection and two goroutines per call", funcTitle(f))
	}
}

// keepsIdle reports whether the literal leaves idle connections open for ever
// and connects in the usual way.
func (p *pass) keepsIdle(lit *ast.CompositeLit) bool {
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		switch keyName(kv) {
		case "IdleConnTimeout", "DisableKeepAlives", "MaxIdleConns", "MaxIdleConnsPerHost":
			return false
		}
	}
	return p.plainLiteral(lit)
}

// runsOnce reports whether a function may run once in the life of its program:
// then one connection is no leak. In a program, or a package that reads a command line,
// that is all but what serves requests.
func (p *pass) runsOnce(f inspector.Cursor) bool {
	if p.isOnce(f) {
		return true
	}
	sig := p.signature(f)
	if decl, ok := f.Node().(*ast.FuncDecl); sig == nil || ok && setsUp(decl.Name.Name) {
		return true
	}
	serves := false
	for v := range sig.Params().Variables() {
		if isNamed(v.Type(), "github.com/spf13/cobra", "Command") || isNamed(v.Type(), "github.com/urfave/cli", "Context") ||
			isNamed(v.Type(), "github.com/urfave/cli/v2", "Context") || isNamed(v.Type(), "github.com/urfave/cli/v3", "Command") {
			return true
		}
		serves = serves || isRequest(v.Type())
	}
	return !serves && (p.Pkg.Name() == "main" || p.isCommandLine())
}

// isOnce reports whether f is a function literal that package sync runs once.
func (p *pass) isOnce(f inspector.Cursor) bool {
	if f.ParentEdgeKind() != edge.CallExpr_Args {
		return false
	}
	fn := p.callee(f.Parent().Node().(*ast.CallExpr))
	return isMethod(fn, "sync", "Once", "Do") || isFunc(fn, "sync", "OnceFunc") || isFunc(fn, "sync", "OnceValue") || isFunc(fn, "sync", "OnceValues")
}

// checkTransportVar is OT206 for var t http.Transport.
func (p *pass) checkTransportVar(c inspector.Cursor, spec *ast.ValueSpec) {
	f := p.enclosingFunc(c)
	if len(spec.Values) > 0 || spec.Type == nil || !f.Valid() || isPointer(p.TypesInfo.TypeOf(spec.Type)) || !isTransport(p.TypesInfo.TypeOf(spec.Type)) || p.closesConnections(f) {
		return
	}
	for _, name := range spec.Names {
		v, ok := p.TypesInfo.Defs[name].(*types.Var)
		l := local{pass: p, seen: make(map[*types.Var]bool)}
		if ok && l.variable(v) && l.called && (l.returned || !p.runsOnce(f)) {
			p.report("OT206", spec, nil, "http.Transport built on every call of %s and dropped: leaks an idle connection and two goroutines per call", funcTitle(f))
		}
	}
}

// setsUp reports whether a function is named like one that starts something.
func setsUp(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"init", "main", "new", "setup", "start", "register", "bootstrap"} {
		if strings.HasPrefix(name, word) {
			return true
		}
	}
	return false
}

// isCommandLine reports whether a package reads a command line, and so runs what
// it was told to, once.
func (p *pass) isCommandLine() bool {
	return slices.ContainsFunc(p.Pkg.Imports(), func(imp *types.Package) bool {
		switch imp.Path() {
		case "flag", "github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/urfave/cli", "github.com/urfave/cli/v2", "github.com/urfave/cli/v3", "github.com/alecthomas/kong":
			return true
		}
		return false
	})
}

// closesConnections reports whether a function asks for its connections to be
// closed after each request.
func (p *pass) closesConnections(f inspector.Cursor) bool {
	for c := range f.Preorder((*ast.SelectorExpr)(nil), (*ast.BasicLit)(nil)) {
		switch n := c.Node().(type) {
		case *ast.SelectorExpr:
			if n.Sel.Name == "Close" && isRequest(p.TypesInfo.TypeOf(n.X)) && c.ParentEdgeKind() == edge.AssignStmt_Lhs {
				return true
			}
		case *ast.BasicLit:
			if strings.EqualFold(n.Value, `"connection"`) {
				return true
			}
		}
	}
	return false
}

func funcTitle(f inspector.Cursor) string {
	if decl, ok := f.Node().(*ast.FuncDecl); ok {
		return decl.Name.Name
	}
	return "this function"
}

// A local follows a client or a transport forward, to see whether it leaves the
// function that made it.
type local struct {
	*pass
	seen   map[*types.Var]bool
	called bool // a request went out over it

	// It was returned to a caller in sight, and so is as short-lived as that.
	returned bool
}

// stays reports whether the value at c goes nowhere but into variables of its
// function and the clients built there.
func (l *local) stays(c inspector.Cursor) bool {
	for {
		switch kind := c.ParentEdgeKind(); kind {
		case edge.ParenExpr_X, edge.UnaryExpr_X:
			c = c.Parent()
		case edge.KeyValueExpr_Value:
			client := c.Parent().Parent()
			lit, ok := client.Node().(*ast.CompositeLit)
			if !ok || !isClient(l.TypesInfo.TypeOf(lit)) || keyName(c.Parent().Node().(*ast.KeyValueExpr)) != "Transport" {
				return false
			}
			c = client
		case edge.SelectorExpr_X:
			return l.method(c.Parent())
		case edge.AssignStmt_Rhs, edge.ValueSpec_Values:
			return l.assigned(c)
		case edge.ReturnStmt_Results:
			return l.toCallers(c)
		default:
			return false
		}
	}
}

// toCallers follows the first result of a function that only this package calls.
// Wherever it goes, it must stay there, and be made on every call.
func (l *local) toCallers(c inspector.Cursor) bool {
	_, i := c.ParentEdge()
	f := l.enclosingFunc(c)
	decl, ok := f.Node().(*ast.FuncDecl)
	if !ok || i != 0 || l.returned {
		return false // through more than one function is through a constructor
	}
	l.returned = true
	fn, ok := l.TypesInfo.Defs[decl.Name].(*types.Func)
	if !ok || fn.Exported() {
		return false
	}
	calls := 0
	for _, use := range l.uses[fn] {
		if use.ParentEdgeKind() == edge.FuncDecl_Name {
			continue
		}
		if use.ParentEdgeKind() == edge.SelectorExpr_Sel {
			use = use.Parent()
		}
		if use.ParentEdgeKind() != edge.CallExpr_Fun {
			return false
		}
		call := use.Parent()
		caller := l.enclosingFunc(call)
		if !caller.Valid() || l.runsOnce(caller) || l.closesConnections(caller) || !l.stays(call) {
			return false
		}
		calls++
	}
	return calls > 0
}

// method is a call on the value, with no variable between.
func (l *local) method(sel inspector.Cursor) bool {
	fn, ok := l.object(sel.Node().(*ast.SelectorExpr)).(*types.Func)
	if !ok || sel.ParentEdgeKind() != edge.CallExpr_Fun || !isSend(fn) {
		return false
	}
	l.called = true
	return true
}

// isSend reports whether a method of a client or transport does no more than
// send. CloseIdleConnections ends the leak, Clone and RegisterProtocol are for
// something special.
func isSend(fn *types.Func) bool {
	switch fn.Name() {
	case "Get", "Head", "Post", "PostForm", "Do", "RoundTrip":
		return true
	}
	return false
}

func (l *local) assigned(c inspector.Cursor) bool {
	u := l.consumed(c, c.Parent())
	v, ok := u.target.(*types.Var)
	if !ok {
		return false
	}
	if v.IsField() { // client.Transport = t
		base, ok := l.clientField(c)
		return ok && l.variable(base)
	}
	return l.variable(v)
}

// clientField returns the variable whose Transport is assigned the value at c.
func (l *local) clientField(c inspector.Cursor) (*types.Var, bool) {
	_, i := c.ParentEdge()
	assign, ok := c.Parent().Node().(*ast.AssignStmt)
	if !ok || len(assign.Lhs) <= i {
		return nil, false
	}
	sel, ok := assign.Lhs[i].(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Transport" {
		return nil, false
	}
	base, ok := l.object(sel.X).(*types.Var)
	return base, ok && isClient(base.Type()) && !base.IsField()
}

// variable follows every use of a variable that holds the value.
func (l *local) variable(v *types.Var) bool {
	if l.seen[v] {
		return true
	}
	l.seen[v] = true
	if v.IsField() || v.Parent() == l.Pkg.Scope() || l.isParam(v) {
		return false
	}
	for _, c := range l.uses[v] {
		switch u := l.useOf(c); u.fate {
		case read:
			if u.field == "" && !isPointer(v.Type()) {
				return false // a copy of the client, with the same transport
			}
		case wrote:
			if u.field != "TLSClientConfig" && u.field != "Proxy" && u.field != "CheckRedirect" && u.field != "Jar" && u.field != "Timeout" && u.field != "Transport" {
				return false
			}
		case called:
			if u.call == nil || !isSend(u.method) {
				return false
			}
			l.called = true
		case stored:
			if !l.stays(u.at) {
				return false
			}
		case defined:
		default:
			return false
		}
	}
	return true
}
