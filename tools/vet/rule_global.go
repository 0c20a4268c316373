package vet

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// checkGlobalWrite is OT104 for one left side of an assignment.
func (p *pass) checkGlobalWrite(c inspector.Cursor, lhs ast.Expr) {
	if name := p.global(lhs); name != "" {
		p.reportDirect(c, lhs, name)
		return
	}
	switch x := ast.Unparen(lhs).(type) {
	case *ast.StarExpr: // *http.DefaultClient = …, or *p = … after p := &http.DefaultClient.Timeout
		name := p.global(x.X)
		if name == "" {
			name = p.pointsIntoGlobal(c, x.X)
		}
		if name != "" {
			p.reportDirect(c, lhs, name)
		}
	case *ast.SelectorExpr:
		base := p.writtenThrough(x)
		if base == nil {
			return
		}
		if name := p.global(base); name != "" {
			p.reportDirect(c, lhs, name)
			return
		}
		if name := p.aliases(c, base); name != "" && !(p.inInit(c) && isPoolSize(x.Sel.Name)) {
			holder := types.ExprString(base)
			p.report("OT104", lhs, nil, "writing %s changes %s for the whole process (%s is not a copy)", types.ExprString(lhs), name, holder)
		}
	}
}

// writtenThrough returns the client or transport that a write to sel changes: the
// t of t.TLSClientConfig.MinVersion, or nil. The transport of a client is another
// value, and nil in the default one.
func (p *pass) writtenThrough(sel *ast.SelectorExpr) ast.Expr {
	for {
		x := ast.Unparen(sel.X)
		if p.global(x) != "" || holdsReference(p.TypesInfo.TypeOf(x)) {
			return x
		}
		next, ok := strip(x).(*ast.SelectorExpr)
		if !ok || isTransportField(p.fieldOf(next)) {
			return nil
		}
		sel = next
	}
}

// fieldOf returns the field that a selector names; for anything else, a variable
// that is none.
func (p *pass) fieldOf(sel *ast.SelectorExpr) *types.Var {
	if v, ok := p.object(sel).(*types.Var); ok {
		return v
	}
	return new(types.Var)
}

// pointsIntoGlobal names the global whose field a pointer variable was given the
// address of, in the function around c.
func (p *pass) pointsIntoGlobal(c inspector.Cursor, e ast.Expr) string {
	v, ok := p.object(e).(*types.Var)
	f := p.enclosingFunc(c)
	if !ok || v.IsField() || !f.Valid() {
		return ""
	}
	for _, from := range p.valuesIn(f, v) {
		if sel, ok := strip(from).(*ast.SelectorExpr); ok {
			if base := p.writtenThrough(sel); base != nil && p.global(base) != "" {
				return p.global(base)
			}
		}
	}
	return ""
}

// checkGlobalMethod is OT104 for a method that changes its receiver.
func (p *pass) checkGlobalMethod(c inspector.Cursor, call *ast.CallExpr) {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || !isMethod(p.callee(call), pkgHTTP, "Transport", "RegisterProtocol") || p.inInit(c) {
		return
	}
	name := p.global(sel.X)
	if name == "" {
		name = p.aliases(c, sel.X)
	}
	if name != "" {
		p.reportDirect(c, call.Fun, name)
	}
}

// reportDirect speaks about a write that names the global. A program may set up
// its own, and a function that says Default or Global in its name says what it
// does; both are decisions. So are pool sizes, and a transport of its own, in an
// init: nothing runs yet, and nothing else is what an init is for.
func (p *pass) reportDirect(c inspector.Cursor, lhs ast.Expr, name string) {
	if p.Pkg.Name() == "main" {
		return
	}
	sel, isField := lhs.(*ast.SelectorExpr)
	if p.inInit(c) && (p.global(lhs) != "" || isField && isPoolSize(sel.Sel.Name)) {
		return
	}
	for f := range c.Enclosing((*ast.FuncDecl)(nil)) {
		fn := f.Node().(*ast.FuncDecl).Name.Name
		if strings.Contains(fn, "Default") || strings.Contains(fn, "Global") {
			return
		}
	}
	p.report("OT104", lhs, nil, "writing %s changes %s for the whole process", types.ExprString(lhs), name)
}

func (p *pass) inInit(c inspector.Cursor) bool {
	for f := range c.Enclosing((*ast.FuncDecl)(nil)) {
		decl := f.Node().(*ast.FuncDecl)
		return decl.Name.Name == "init" && decl.Recv == nil
	}
	return false
}

// isPoolSize reports whether a field of http.Transport bounds or routes
// connections, rather than weakening what is said over them.
func isPoolSize(field string) bool {
	return strings.HasPrefix(field, "Max") || strings.HasPrefix(field, "Dial") || strings.HasSuffix(field, "Timeout")
}

// aliases names the global that the client or transport x stands for when
// control comes to c, or "".
func (p *pass) aliases(c inspector.Cursor, x ast.Expr) string {
	x = ast.Unparen(x)
	if assert, ok := x.(*ast.TypeAssertExpr); ok {
		x = ast.Unparen(assert.X)
	}
	if name := p.returnedGlobal(x); name != "" {
		return name
	}
	v, ok := p.object(x).(*types.Var)
	if !ok || v.Pkg() != p.Pkg || !holdsReference(v.Type()) {
		return ""
	}
	if v.IsField() || v.Parent() == p.Pkg.Scope() || p.isCaptured(c, v) {
		if name := p.alwaysGlobal(v); name != "" {
			return name
		}
	}
	if name := p.fallsBack(c, v); name != "" {
		return name
	}
	return p.reachingGlobal(c, x, v)
}

// isCaptured reports whether v is a variable of a function around that of c.
func (p *pass) isCaptured(c inspector.Cursor, v *types.Var) bool {
	f := p.enclosingFunc(c)
	return f.Valid() && !(f.Node().Pos() <= v.Pos() && v.Pos() < f.Node().End())
}

// returnedGlobal names the global if x calls a function that returns nothing else.
func (p *pass) returnedGlobal(x ast.Expr) string {
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	if !ok {
		return ""
	}
	fn := p.callee(call)
	if fn == nil {
		return ""
	}
	var fact GlobalResult
	if fn.Pkg() != p.Pkg {
		if fn.Pkg() != nil && p.sameModule(fn.Pkg()) && p.ImportObjectFact(fn, &fact) {
			return fact.Name
		}
		return ""
	}
	return p.globalResult(fn)
}

// globalResult names the global if fn, of this package, returns nothing else.
func (p *pass) globalResult(fn *types.Func) string {
	decl, ok := p.decls[fn]
	if !ok || fn.Signature().Results().Len() == 0 || !holdsReference(fn.Signature().Results().At(0).Type()) {
		return ""
	}
	t := newTrail()
	if !p.followResult(t, fn, decl, 0) {
		return ""
	}
	name := ""
	for _, leaf := range t.leaves {
		if leaf.expr == nil {
			return ""
		}
		if name = p.global(leaf.expr); name == "" {
			return ""
		}
	}
	return name
}

// fallsBack names the global if some constructor puts it into the field v, and
// nothing around c asks which one is there.
func (p *pass) fallsBack(c inspector.Cursor, v *types.Var) string {
	if !v.IsField() || p.comparedWithGlobal(v) {
		return ""
	}
	name := ""
	for _, e := range p.elems[v] {
		name = cmp.Or(name, p.global(e))
	}
	for _, use := range p.uses[v] {
		if p.useOf(use).fate != defined {
			continue
		}
		if p.enclosingFunc(use) == p.enclosingFunc(c) {
			return "" // what is there is known, or reachingGlobal knows it
		}
		if use.ParentEdgeKind() == edge.SelectorExpr_Sel {
			use = use.Parent()
		}
		if values, ok := p.assigned(v, use); ok && len(values) == 1 && values[0].expr != nil {
			name = cmp.Or(name, p.global(values[0].expr))
		}
	}
	// A condition on anything that the struct holds may be about whose client it is.
	for obj := range p.conditions(c, inspector.Cursor{}) {
		if field, ok := obj.(*types.Var); ok && field.IsField() {
			return ""
		}
	}
	return name
}

// holdsReference reports whether a write through a variable of type t is a
// write to what others see.
func holdsReference(t types.Type) bool {
	if t == nil {
		return false
	}
	if types.IsInterface(t) {
		return isNamed(t, pkgHTTP, "RoundTripper")
	}
	return isPointer(t) && (isClient(t) || isTransport(t))
}

// alwaysGlobal names the global if the field never holds anything else.
func (p *pass) alwaysGlobal(field *types.Var) string {
	values, ok := p.sources(field)
	if !ok {
		return ""
	}
	name := ""
	for _, v := range values {
		if v.expr == nil || p.TypesInfo.Types[v.expr].IsNil() {
			continue
		}
		if name = p.global(v.expr); name == "" {
			return ""
		}
	}
	return name
}

// reachingGlobal names the global that an assignment to x puts there, if that
// assignment is in the same function as c and reaches it.
func (p *pass) reachingGlobal(c inspector.Cursor, x ast.Expr, v *types.Var) string {
	body := funcBody(p.enclosingFunc(c))
	if body == nil || p.comparedWithGlobal(v) {
		return ""
	}
	type def struct {
		at   inspector.Cursor
		name string
	}
	var globals []def
	var all []ast.Node
	for _, use := range p.uses[v] {
		if p.useOf(use).fate != defined || p.enclosingFunc(use) != p.enclosingFunc(c) {
			continue
		}
		if use.ParentEdgeKind() == edge.SelectorExpr_Sel {
			use = use.Parent()
			if types.ExprString(use.Node().(ast.Expr)) != types.ExprString(x) {
				continue
			}
		}
		stmt := use.Parent()
		all = append(all, stmt.Node())
		if values, ok := p.assigned(v, use); ok && len(values) == 1 && values[0].expr != nil && values[0].result == 0 {
			if name := cmp.Or(p.global(values[0].expr), p.returnedGlobal(values[0].expr)); name != "" {
				globals = append(globals, def{stmt, name})
			}
		}
	}
	for _, d := range globals {
		var kills []ast.Node
		for _, n := range all {
			if n != d.at.Node() {
				kills = append(kills, n)
			}
		}
		if reaches(body, d.at.Node(), c.Node(), kills) && !p.correlated(d.at, c, v) {
			return d.name
		}
	}
	return ""
}

func funcBody(f inspector.Cursor) *ast.BlockStmt {
	if !f.Valid() {
		return nil
	}
	switch n := f.Node().(type) {
	case *ast.FuncDecl:
		return n.Body
	case *ast.FuncLit:
		return n.Body
	}
	return nil
}

// correlated reports whether the same variable may decide about both: whether
// the global is assigned and whether it is written to. Then the path from one
// to the other may not exist. A condition on the client itself counts for the
// write alone: "if c == nil { c = http.DefaultClient }" is the usual way in.
func (p *pass) correlated(assign, write inspector.Cursor, v *types.Var) bool {
	first, second := p.conditions(assign, write), p.conditions(write, assign)
	if second[v] {
		return true
	}
	for obj := range first {
		if obj != v && second[obj] {
			return true
		}
	}
	return false
}

// comparedWithGlobal reports whether the package asks if v is the global: then
// it knows what it is doing.
func (p *pass) comparedWithGlobal(v *types.Var) bool {
	for _, c := range p.uses[v] {
		if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
			c = c.Parent()
		}
		asked, ok := c.Parent().Node().(*ast.BinaryExpr)
		if ok && (asked.Op == token.EQL || asked.Op == token.NEQ) && (p.global(asked.X) != "" || p.global(asked.Y) != "") {
			return true
		}
	}
	return false
}

// checkWriterCall is OT104 for a call that hands the global to a function that
// writes to the client it is given.
func (p *pass) checkWriterCall(c inspector.Cursor, call *ast.CallExpr) {
	fn := p.callee(call)
	if fn == nil || fn.Pkg() == nil {
		return
	}
	for i, arg := range call.Args {
		if !holdsReference(p.TypesInfo.TypeOf(arg)) {
			continue
		}
		field := p.writesParam(fn, i)
		if field == "" {
			continue
		}
		name := p.global(arg)
		if name == "" {
			name = p.aliases(c, arg)
		}
		if name != "" {
			p.report("OT104", call, nil, "%s sets %s of what it is given, here %s, for the whole process", fn.Name(), field, name)
			return
		}
	}
}
