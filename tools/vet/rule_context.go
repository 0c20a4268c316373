package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/inspector"
)

// checkRequest is OT301, OT302 and OT303: how a request comes by its context.
func (p *pass) checkRequest(c inspector.Cursor, call *ast.CallExpr) {
	switch fn := p.callee(call); {
	case isFunc(fn, pkgHTTP, "NewRequest"):
		ctx, ok := p.contextAt(c)
		// A request that is returned, or handed to code out of sight, may get its
		// context there.
		if !p.sinks(c) {
			return
		}
		if ok {
			p.report("OT301", call, p.contextFix(call, ctx), "http.NewRequest drops the context in scope (%s)", ctx.name)
			return
		}
		p.report("OT303", call, nil, "http.NewRequest takes no context: use http.NewRequestWithContext")
	case isFunc(fn, pkgHTTP, "NewRequestWithContext") && len(call.Args) == 4:
		name := p.background(call.Args[0])
		var fix *fix
		if name == "" && !p.isBackground(call.Args[0]) || p.isStream(c) {
			return
		}
		if ctx, ok := p.contextAt(c); ok && p.sinks(c) {
			if name != "" {
				fix = p.backgroundFix(call.Args[0], ctx)
			} else {
				name = types.ExprString(call.Args[0]) + ", which is the background,"
			}
			p.report("OT302", call.Args[0], fix, "outbound request on %s although %s is in scope", name, ctx.name)
		}
	}
}

// checkRPC is OT402: a unary RPC, known by its ...grpc.CallOption, on the
// background. A stream may well outlive the call that opened it.
func (p *pass) checkRPC(c inspector.Cursor, call *ast.CallExpr) {
	if len(call.Args) == 0 {
		return
	}
	name := p.background(call.Args[0])
	if name == "" {
		return
	}
	fn := p.callee(call)
	if fn == nil || !isUnary(fn.Signature()) || cleansUp(fn.Name()) {
		return
	}
	if ctx, ok := p.contextAt(c); ok {
		p.report("OT402", call.Args[0], p.backgroundFix(call.Args[0], ctx), "RPC on %s although %s is in scope", name, ctx.name)
	}
}

func isUnary(sig *types.Signature) bool {
	params, results := sig.Params(), sig.Results()
	if sig.Recv() == nil || !sig.Variadic() || results.Len() == 0 || !isContext(params.At(0).Type()) {
		return false
	}
	opts, ok := params.At(params.Len() - 1).Type().(*types.Slice)
	if !ok || !isNamed(opts.Elem(), pkgGRPC, "CallOption") {
		return false
	}
	reply := results.At(0).Type()
	if results.Len() == 1 { // Invoke(ctx, method, in, out, opts...) error
		return types.Identical(reply, types.Universe.Lookup("error").Type())
	}
	_, isStruct := structOf(reply)
	return isStruct && isPointer(reply) && types.NewMethodSet(reply).Lookup(nil, "RecvMsg") == nil
}

// contextFix turns http.NewRequest(…) into http.NewRequestWithContext(ctx, …).
// With more than one context in scope the choice is the author's.
func (p *pass) contextFix(call *ast.CallExpr, ctx source) *fix {
	if !ctx.only || len(call.Args) == 0 {
		return nil
	}
	var name *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.SelectorExpr:
		name = fun.Sel
	case *ast.Ident:
		name = fun
	default:
		return nil
	}
	if name.Name != "NewRequest" {
		return nil
	}
	return &fix{"Pass " + ctx.name + " on", []analysis.TextEdit{
		{Pos: name.Pos(), End: name.End(), NewText: []byte("NewRequestWithContext")},
		{Pos: call.Args[0].Pos(), End: call.Args[0].Pos(), NewText: []byte(ctx.name + ", ")},
	}}
}

// backgroundFix replaces context.Background() by the context in scope. It must
// not leave the import of context without a use, as not every driver tidies
// imports, so it wants a mention of the package that no fix takes away.
func (p *pass) backgroundFix(arg ast.Expr, ctx source) *fix {
	if !ctx.only || !p.keepsImport(arg, pkgContext, "Background", "TODO") {
		return nil
	}
	return &fix{"Pass " + ctx.name + " on", []analysis.TextEdit{
		{Pos: arg.Pos(), End: arg.End(), NewText: []byte(ctx.name)},
	}}
}

// keepsImport reports whether the file around at mentions the package path in a
// way that no fix takes away: by another name than those given.
func (p *pass) keepsImport(at ast.Node, path string, fixed ...string) bool {
	for _, c := range p.reported {
		if !covers(c.Node(), at) {
			continue
		}
		for sel := range c.Preorder((*ast.SelectorExpr)(nil)) {
			s := sel.Node().(*ast.SelectorExpr)
			id, ok := s.X.(*ast.Ident)
			if !ok || slices.Contains(fixed, s.Sel.Name) {
				continue
			}
			if name, ok := p.TypesInfo.Uses[id].(*types.PkgName); ok && name.Imported().Path() == path {
				return true
			}
		}
	}
	return false
}
