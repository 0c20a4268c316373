package vet

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// An unbounded is a client that is proved to have no bound of its own.
type unbounded struct {
	global bool        // it is http.DefaultClient
	from   *types.Func // the function of another package that made it, or nil
}

// unboundedClient reports whether the client e has no timeout wherever it may
// have been made, and nothing in sight gives it one.
func (p *pass) unboundedClient(e ast.Expr, result int) (unbounded, bool) {
	var u unbounded
	proved := p.proved(e, result, func(v value) bool { return p.noTimeout(v, &u) }, boundsClient)
	return u, proved
}

// noTimeout reports whether a client is made without any bound. An explicit
// Timeout of 0 is a decision, and counts as one.
func (p *pass) noTimeout(v value, u *unbounded) bool {
	switch e := v.expr.(type) {
	case nil:
		return isClient(v.holder.Type())
	case *ast.CompositeLit:
		return isClient(p.TypesInfo.TypeOf(e)) && p.literalUnbounded(e)
	case *ast.CallExpr:
		if p.isNew(e) {
			return isClient(p.TypesInfo.TypeOf(e))
		}
		if fn := p.callee(e); fn != nil {
			var fact UnboundedClient
			if fn.Pkg() != p.Pkg && p.sameModule(fn.Pkg()) && p.ImportObjectFact(fn, &fact) && fact.Result == v.result {
				u.from = fn
				return true
			}
		}
	default:
		if p.global(e) == "http.DefaultClient" {
			u.global = true
			return !p.defaultReplaced()
		}
	}
	return false
}

func (p *pass) isNew(call *ast.CallExpr) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	_, ok = p.TypesInfo.Uses[id].(*types.Builtin)
	return ok && id.Name == "new"
}

func (p *pass) literalUnbounded(lit *ast.CompositeLit) bool {
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		switch keyName(kv) {
		case "Timeout":
			return false
		case "Transport":
			if !p.plainTransport(kv.Value) {
				return false
			}
		}
	}
	return true
}

func keyName(kv *ast.KeyValueExpr) string {
	if id, ok := kv.Key.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// defaultReplaced reports whether the package gives http.DefaultClient, or the
// transport below it, a value of its own. Then what it does is not known here.
func (p *pass) defaultReplaced() bool {
	for obj, uses := range p.uses {
		if !isObject(obj, pkgHTTP, "DefaultClient") && !isObject(obj, pkgHTTP, "DefaultTransport") {
			continue
		}
		for _, c := range uses {
			switch u := p.useOf(c); {
			case u.fate == defined, u.fate == wrote && (boundsClient(u) || bendsTransport(u)):
				return true
			}
		}
	}
	return false
}

// plainTransport reports whether e is nil or a transport of net/http that
// neither bounds a response nor leads somewhere special. Anything else, a
// tunnel, an in-memory server, a stream, knows better than we do.
func (p *pass) plainTransport(e ast.Expr) bool {
	return p.TypesInfo.Types[e].IsNil() || p.proved(e, 0, p.plainLeaf, bendsTransport)
}

func (p *pass) plainLeaf(v value) bool {
	switch e := v.expr.(type) {
	case nil:
		return isTransport(v.holder.Type())
	case *ast.CompositeLit:
		return isTransport(p.TypesInfo.TypeOf(e)) && p.plainLiteral(e)
	case *ast.CallExpr:
		if p.isNew(e) {
			return isTransport(p.TypesInfo.TypeOf(e))
		}
		sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
		return ok && isMethod(p.callee(e), pkgHTTP, "Transport", "Clone") && p.global(sel.X) != ""
	default:
		return p.global(e) == "http.DefaultTransport"
	}
}

func (p *pass) plainLiteral(lit *ast.CompositeLit) bool {
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		name := keyName(kv)
		if name == "ResponseHeaderTimeout" || strings.HasPrefix(name, "Dial") && !p.isDialerMethod(kv.Value) {
			return false
		}
	}
	return true
}

// isDialerMethod reports whether e is (&net.Dialer{…}).DialContext or the like:
// it bounds how long connecting takes, and not what comes after.
func (p *pass) isDialerMethod(e ast.Expr) bool {
	sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, ok := p.object(sel).(*types.Func)
	return ok && (isMethod(fn, pkgNet, "Dialer", "DialContext") || isMethod(fn, pkgNet, "Dialer", "Dial"))
}

// boundsClient is a use that may give a client a bound. What reads its Transport
// may change that.
func boundsClient(u use) bool {
	switch u.fate {
	case wrote:
		return u.field == "Timeout" || u.field == "Transport" || u.field == "*"
	case read:
		return u.field == "Transport"
	}
	return false
}

// bendsTransport is a use that may give a transport a bound or another way to
// connect.
func bendsTransport(u use) bool {
	switch u.fate {
	case wrote:
		return u.field == "ResponseHeaderTimeout" || u.field == "*" || strings.HasPrefix(u.field, "Dial")
	case called:
		return u.method.Name() != "CloseIdleConnections" && u.method.Name() != "RoundTrip" && u.method.Name() != "Clone"
	}
	return false
}

// proved reports whether result number result of e is, wherever it may have been
// made, what made accepts, and whether nothing that matters is done to it
// afterwards. This is the question behind every rule that speaks of a bound.
func (p *pass) proved(e ast.Expr, result int, made func(value) bool, matters func(use) bool) bool {
	t, ok := p.trace(e, result)
	if !ok || len(t.leaves) == 0 {
		return false
	}
	for _, leaf := range t.leaves {
		if !made(leaf) {
			return false
		}
	}
	return p.harmless(t, make(map[*types.Var]bool), matters)
}

// harmless reports whether all uses of all holders on the trail are in sight
// and none of them is one that matters.
func (p *pass) harmless(t *trail, seen map[*types.Var]bool, matters func(use) bool) bool {
	for holder := range t.holders {
		for _, c := range p.uses[holder] {
			u := p.useOf(c)
			switch {
			case matters(u), u.fate == unknown:
				return false
			case u.fate == passed && !p.harmlessArg(t, u, seen, matters):
				return false
			case u.fate == stored:
				if v, ok := u.target.(*types.Var); !ok || !t.holders[v] && !isTransportField(v) && !p.harmlessCopy(t, v, seen, matters) {
					return false
				}
			case u.fate == returned && !p.returnedOnTrail(t, u.at):
				return false
			}
		}
	}
	return true
}

// harmlessArg follows an argument into a function of this package. Of the
// others, those that send a request and those of the standard library are known
// to leave it as it is.
func (p *pass) harmlessArg(t *trail, u use, seen map[*types.Var]bool, matters func(use) bool) bool {
	if fn := p.callee(u.call); isSender(fn) && !p.inThisPackage(fn) || isStandard(fn) {
		return true
	}
	param := p.param(u.call, u.arg)
	return param != nil && p.harmlessCopy(t, param, seen, matters)
}

// harmlessCopy asks the same of another variable that holds the value.
func (p *pass) harmlessCopy(t *trail, v *types.Var, seen map[*types.Var]bool, matters func(use) bool) bool {
	if seen[v] || isBlankVar(v) {
		return true
	}
	seen[v] = true
	if !p.inSight(v) || !p.follows(v) {
		return false
	}
	next := &trail{holders: map[*types.Var]bool{v: true}, through: t.through}
	return p.harmless(next, seen, matters)
}

// isStandard reports whether fn belongs to the standard library. Interfaces are
// not meant: who implements them is out of sight.
func isStandard(fn *types.Func) bool {
	if fn == nil || fn.Pkg() == nil {
		return false
	}
	if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return false
	}
	switch root, _, _ := strings.Cut(fn.Pkg().Path(), "/"); root {
	case "net", "io", "fmt", "context", "errors", "log", "bytes", "strings", "mime", "encoding":
		return true
	}
	return false
}

// isTransportField reports whether v is the Transport of http.Client. Whoever
// reads it there is noticed as a reader of the client, by boundsClient.
func isTransportField(v *types.Var) bool {
	return v.IsField() && v.Name() == "Transport" && v.Pkg() != nil && v.Pkg().Path() == pkgHTTP
}

func isBlankVar(v *types.Var) bool { return v.Name() == "_" || v.Name() == "" }

// param returns the parameter that argument i of the call becomes, if the
// function called is in sight.
func (p *pass) param(call *ast.CallExpr, i int) *types.Var {
	fn := p.callee(call)
	if fn == nil {
		return nil
	}
	if _, ok := p.decls[fn]; !ok {
		return nil
	}
	sig := fn.Signature()
	if i >= sig.Params().Len() || sig.Variadic() && i >= sig.Params().Len()-1 {
		return nil
	}
	return sig.Params().At(i)
}

func (p *pass) returnedOnTrail(t *trail, c inspector.Cursor) bool {
	f := p.enclosingFunc(c)
	if !f.Valid() {
		return false
	}
	decl, ok := f.Node().(*ast.FuncDecl)
	if !ok {
		return false
	}
	fn, _ := p.TypesInfo.Defs[decl.Name].(*types.Func)
	return t.through[fn]
}
