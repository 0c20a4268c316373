package vet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// The packages that the rules know by name. offtake itself is known this way
// too: an analyzer that imported it would drag it into every build of the tool.
const (
	pkgHTTP       = "net/http"
	pkgProxy      = "net/http/httputil"
	pkgNet        = "net"
	pkgTLS        = "crypto/tls"
	pkgSMTP       = "net/smtp"
	pkgRPC        = "net/rpc"
	pkgContext    = "context"
	pkgGRPC       = "google.golang.org/grpc"
	pkgOfftake    = "github.com/offtake-go/offtake"
	pkgHTTPClient = pkgOfftake + "/httpclient"
	pkgGRPCClient = pkgOfftake + "/grpcclient"
	pkgCapacity   = pkgOfftake + "/capacity"
)

// isNamed reports whether t, seen through aliases and one pointer, is the type
// path.name itself. A type defined from it is another type.
func isNamed(t types.Type, path, name string) bool {
	if t == nil {
		return false
	}
	t = types.Unalias(t)
	if ptr, ok := t.(*types.Pointer); ok {
		t = types.Unalias(ptr.Elem())
	}
	named, ok := t.(*types.Named)
	return ok && isObject(named.Obj(), path, name)
}

func isPointer(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

func isClient(t types.Type) bool    { return isNamed(t, pkgHTTP, "Client") }
func isTransport(t types.Type) bool { return isNamed(t, pkgHTTP, "Transport") }
func isRequest(t types.Type) bool   { return isNamed(t, pkgHTTP, "Request") }

func isContext(t types.Type) bool {
	return isNamed(t, pkgContext, "Context") && !isPointer(t)
}

// isObject reports whether obj is the package-level object path.name.
func isObject(obj types.Object, path, name string) bool {
	return obj != nil && obj.Name() == name && obj.Pkg() != nil && obj.Pkg().Path() == path &&
		obj.Parent() == obj.Pkg().Scope()
}

// callee returns the function or method that a call names, or nil if it calls a
// value. For an interface's method it is that method.
func (p *pass) callee(call *ast.CallExpr) *types.Func {
	fn, _ := typeutil.Callee(p.TypesInfo, call).(*types.Func)
	if fn != nil {
		fn = fn.Origin()
	}
	return fn
}

// isFunc reports whether fn is the function path.name.
func isFunc(fn *types.Func, path, name string) bool {
	return fn != nil && isObject(fn, path, name)
}

// isMethod reports whether fn is the method name of path.typ.
func isMethod(fn *types.Func, path, typ, name string) bool {
	if fn == nil || fn.Name() != name {
		return false
	}
	recv := fn.Signature().Recv()
	return recv != nil && isNamed(recv.Type(), path, typ)
}

// global names http.DefaultClient or http.DefaultTransport if e is one of them,
// seen through parentheses and a type assertion.
func (p *pass) global(e ast.Expr) string {
	e = ast.Unparen(e)
	if assert, ok := e.(*ast.TypeAssertExpr); ok {
		e = ast.Unparen(assert.X)
	}
	obj := p.object(e)
	switch {
	case isObject(obj, pkgHTTP, "DefaultClient"):
		return "http.DefaultClient"
	case isObject(obj, pkgHTTP, "DefaultTransport"):
		return "http.DefaultTransport"
	}
	return ""
}

// object returns what an identifier or a selector denotes, or nil. Fields of an
// instantiated type are those of its declaration.
func (p *pass) object(e ast.Expr) types.Object {
	var id *ast.Ident
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		id = e
	case *ast.SelectorExpr:
		id = e.Sel
	default:
		return nil
	}
	return origin(p.TypesInfo.ObjectOf(id))
}

func origin(obj types.Object) types.Object {
	switch obj := obj.(type) {
	case *types.Var:
		return obj.Origin()
	case *types.Func:
		return obj.Origin()
	}
	return obj
}

// background names context.Background or context.TODO if e is a call of it.
func (p *pass) background(e ast.Expr) string {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch fn := p.callee(call); {
	case isFunc(fn, pkgContext, "Background"):
		return "context.Background()"
	case isFunc(fn, pkgContext, "TODO"):
		return "context.TODO()"
	}
	return ""
}
