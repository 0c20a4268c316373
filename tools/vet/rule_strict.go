package vet

import (
	"go/ast"
	"go/types"
	"iter"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// isFactory reports whether this package may build clients.
func (p *pass) isFactory() bool {
	own := p.Pkg.Path()
	if _, declared := p.factoryComment(); declared {
		return true
	}
	for _, f := range append(slices.Clone(p.opts.Factories), pkgHTTPClient+"/...", pkgGRPCClient+"/...", pkgOfftake+"/factory/...") {
		below, tree := strings.CutSuffix(f, "/...")
		if own == below || tree && strings.HasPrefix(own, below+"/") {
			return true
		}
	}
	return false
}

// policy reports a breach of "clients are built in the factory".
func (p *pass) policy(id string, at ast.Node, what string) {
	if _, on := p.on[id]; !on || p.isFactory() {
		return
	}
	p.report(id, at, nil, "%s outside the client factory (%s)", what, p.factoryHint())
}

// factoryHint names the factory to use: one that the package imports already,
// one from the options, or offtake's own.
func (p *pass) factoryHint() string {
	for _, imp := range p.Pkg.Imports() {
		if p.sameModule(imp) && p.ImportPackageFact(imp, &Factory{}) {
			return "use " + imp.Path()
		}
	}
	if len(p.opts.Factories) > 0 {
		return "use " + strings.TrimSuffix(p.opts.Factories[0], "/...")
	}
	return "use offtake/factory, httpclient or grpcclient, or name yours with -factory"
}

// checkDefaultRef is OT111 and OT112.
func (p *pass) checkDefaultRef(c inspector.Cursor, sel *ast.SelectorExpr) {
	switch obj := p.object(sel); {
	case isObject(obj, pkgHTTP, "DefaultClient"):
		p.policy("OT111", sel, "http.DefaultClient used")
	case isObject(obj, pkgHTTP, "DefaultTransport"):
		if id, ok := c.LastChild(); ok && !p.onlyLooksAt(id) {
			p.policy("OT112", sel, "http.DefaultTransport used")
		}
	default:
		switch obj := obj.(type) {
		case *types.Var:
			if !obj.IsField() {
				p.checkThirdParty(sel, obj, "used")
			}
		case *types.Func:
			if c.ParentEdgeKind() != edge.CallExpr_Fun {
				p.checkConstructorValue(sel, obj)
			}
		}
	}
}

// checkLiteral is OT201, OT203 and OT502 for composite literals.
func (p *pass) checkLiteral(c inspector.Cursor, lit *ast.CompositeLit) {
	switch t := p.TypesInfo.TypeOf(lit); {
	case isClient(t):
		p.policy("OT201", lit, "http.Client constructed")
	case isTransport(t):
		p.policy("OT203", lit, "http.Transport constructed")
	case isNamed(t, pkgProxy, "ReverseProxy"):
		for _, elt := range lit.Elts {
			if kv, ok := elt.(*ast.KeyValueExpr); !ok || keyName(kv) == "Transport" {
				return
			}
		}
		if !p.laterFields(c)["Transport"] {
			p.policy("OT502", lit, "httputil.ReverseProxy over http.DefaultTransport, without a limit,")
		}
	default:
		if named, ok := types.Unalias(t).(*types.Named); ok {
			p.checkThirdParty(lit, named.Obj(), "constructed")
		}
	}
}

// checkZeroValue is OT201 and OT203 for var c http.Client.
func (p *pass) checkZeroValue(spec *ast.ValueSpec) {
	if len(spec.Values) > 0 || spec.Type == nil || isPointer(p.TypesInfo.TypeOf(spec.Type)) {
		return
	}
	switch t := p.TypesInfo.TypeOf(spec.Type); {
	case isClient(t):
		p.policy("OT201", spec, "http.Client declared")
	case isTransport(t):
		p.policy("OT203", spec, "http.Transport declared")
	}
}

// checkConstructors is OT201, OT203, OT401, OT502 and OT503 for calls.
func (p *pass) checkConstructors(c inspector.Cursor, call *ast.CallExpr) {
	if p.isNew(call) {
		switch t := p.TypesInfo.TypeOf(call); {
		case isClient(t):
			p.policy("OT201", call, "http.Client constructed")
		case isTransport(t):
			p.policy("OT203", call, "http.Transport constructed")
		}
		return
	}
	fn := p.callee(call)
	if fn == nil || fn.Pkg() == nil {
		return
	}
	switch {
	case isGRPCDial(fn):
		p.policy("OT401", call, "grpc."+fn.Name()+" called")
	case isFunc(fn, pkgProxy, "NewSingleHostReverseProxy"):
		v := p.assignedTo(c, 0)
		if c.ParentEdgeKind() == edge.ReturnStmt_Results || v != nil && !p.writesField(v, "Transport") {
			p.policy("OT502", call, "httputil.ReverseProxy over http.DefaultTransport, without a limit,")
		}
	default:
		p.checkThirdParty(call, fn, "called")
	}
}

// onlyLooksAt reports whether the mention of a transport at c sends nothing over
// it: it is cloned, read or compared. What writes to it is for OT104 to say.
func (p *pass) onlyLooksAt(c inspector.Cursor) bool {
	for at := range c.Enclosing((*ast.TypeAssertExpr)(nil)) {
		if at.Node().(*ast.TypeAssertExpr).Type == nil { // switch t := http.DefaultTransport.(type)
			return true
		}
	}
	switch u := p.useOf(c); u.fate {
	case read, wrote, defined:
		return true
	case called:
		return u.method.Name() == "Clone"
	case stored:
		v, ok := u.target.(*types.Var)
		if !ok || v.IsField() || v.Parent() == p.Pkg.Scope() || !isTransport(v.Type()) {
			return false
		}
		for _, use := range p.uses[v] {
			if p.useOf(use).fate == stored || !p.onlyLooksAt(use) {
				return false
			}
		}
		return true
	}
	return false
}

func isGRPCDial(fn *types.Func) bool {
	return isFunc(fn, pkgGRPC, "Dial") || isFunc(fn, pkgGRPC, "DialContext") || isFunc(fn, pkgGRPC, "NewClient")
}

// checkConstructorValue is OT401 and OT503 for a function that is not called here,
// but kept or handed on.
func (p *pass) checkConstructorValue(at ast.Node, fn *types.Func) {
	if isGRPCDial(fn) {
		p.policy("OT401", at, "grpc."+fn.Name()+" used")
		return
	}
	p.checkThirdParty(at, fn, "used")
}

// checkThirdParty is OT503.
func (p *pass) checkThirdParty(at ast.Node, obj types.Object, what string) {
	if obj.Pkg() == nil || obj.Pkg() == p.Pkg || p.Module != nil && p.Module.Path != "" && p.sameModule(obj.Pkg()) {
		return // a library's own use of its constructors is no other library's
	}
	local, ok := localName(obj)
	if !ok {
		return
	}
	for known := range constructors(p.opts) {
		if known == obj.Pkg().Path()+"."+local {
			p.policy("OT503", at, obj.Pkg().Name()+"."+local+" "+what)
			return
		}
	}
}

// localName is what obj is called within its package: Name, or Type.Name for a
// method. Fields and what is local to a function have none.
func localName(obj types.Object) (string, bool) {
	if obj.Parent() == obj.Pkg().Scope() {
		return obj.Name(), true
	}
	fn, ok := obj.(*types.Func)
	if !ok || fn.Signature().Recv() == nil {
		return "", false
	}
	t := types.Unalias(fn.Signature().Recv().Type())
	if ptr, ok := t.(*types.Pointer); ok {
		t = types.Unalias(ptr.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok {
		return "", false
	}
	return named.Obj().Name() + "." + fn.Name(), true
}

func (p *pass) writesField(v *types.Var, field string) bool {
	return slices.ContainsFunc(p.uses[v], func(c inspector.Cursor) bool {
		u := p.useOf(c)
		return u.fate == wrote && u.field == field
	})
}

// constructors yields the functions, types and variables of other libraries that
// are or build a client of their own, with pools that nobody derived.
func constructors(o *Options) iter.Seq[string] {
	known := []string{
		"github.com/hashicorp/go-retryablehttp.NewClient",
		"github.com/hashicorp/go-retryablehttp.Client",
		"github.com/hashicorp/go-retryablehttp.Get",
		"github.com/hashicorp/go-retryablehttp.Head",
		"github.com/hashicorp/go-retryablehttp.Post",
		"github.com/hashicorp/go-retryablehttp.PostForm",
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp.DefaultClient",
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp.Get",
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp.Head",
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp.Post",
		"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp.PostForm",
		"github.com/hashicorp/go-cleanhttp.DefaultClient",
		"github.com/hashicorp/go-cleanhttp.DefaultPooledClient",
		"github.com/hashicorp/go-cleanhttp.DefaultTransport",
		"github.com/hashicorp/go-cleanhttp.DefaultPooledTransport",
		"github.com/go-resty/resty/v2.New",
		"github.com/go-resty/resty/v2.NewWithLocalAddr",
		"resty.dev/v3.New",
		"github.com/imroc/req/v3.C",
		"github.com/imroc/req/v3.NewClient",
		"github.com/valyala/fasthttp.Get",
		"github.com/valyala/fasthttp.Post",
		"github.com/valyala/fasthttp.Do",
		"github.com/valyala/fasthttp.Client",
		"github.com/valyala/fasthttp.HostClient",
		"github.com/valyala/fasthttp.PipelineClient",
		"github.com/gorilla/websocket.DefaultDialer",
		"github.com/gorilla/websocket.Dialer",
		"github.com/coder/websocket.Dial",
		"nhooyr.io/websocket.Dial",
		"golang.org/x/net/websocket.Dial",
		"golang.org/x/oauth2.NewClient",
		"golang.org/x/oauth2.Config.Client",
		"golang.org/x/oauth2/clientcredentials.Config.Client",
		"golang.org/x/oauth2/jwt.Config.Client",
	}
	return func(yield func(string) bool) {
		for _, list := range [][]string{known, o.Constructors} {
			for _, name := range list {
				if !yield(name) {
					return
				}
			}
		}
	}
}
