package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// A value is one result of an expression. With a nil expression it is the zero
// value of a variable.
type value struct {
	expr   ast.Expr
	result int
	holder *types.Var // the variable that is zero
}

// A trail is where a value came from, as far as this package shows.
type trail struct {
	leaves  []value              // where it was made
	holders map[*types.Var]bool  // the variables and fields it went through
	through map[*types.Func]bool // the functions that returned it
}

func newTrail() *trail {
	return &trail{holders: make(map[*types.Var]bool), through: make(map[*types.Func]bool)}
}

// trace follows a value back to all places where it may have been made. It
// reports false if any of them is out of sight: a parameter, an exported
// field, an assignment it can not read.
func (p *pass) trace(e ast.Expr, result int) (*trail, bool) {
	t := newTrail()
	return t, p.follow(t, value{expr: e, result: result})
}

func (p *pass) follow(t *trail, v value) bool {
	if v.expr == nil {
		t.leaves = append(t.leaves, v)
		return true
	}
	e := strip(v.expr)
	if p.TypesInfo.Types[e].IsNil() {
		return true
	}
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		if p.global(e) != "" {
			break
		}
		holder, ok := p.object(e).(*types.Var)
		return ok && p.followHolder(t, holder)
	case *ast.CallExpr:
		if p.TypesInfo.Types[e.Fun].IsType() && len(e.Args) == 1 {
			return p.follow(t, value{expr: e.Args[0]})
		}
		if fn := p.callee(e); fn != nil {
			if decl, ok := p.decls[fn]; ok {
				return p.followResult(t, fn, decl, v.result)
			}
		}
	case *ast.CompositeLit:
	default:
		return false
	}
	t.leaves = append(t.leaves, value{expr: e, result: v.result})
	return true
}

// strip removes what does not change which object an expression stands for.
func strip(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.TypeAssertExpr:
			e = x.X
		case *ast.UnaryExpr:
			if x.Op != token.AND {
				return e
			}
			e = x.X
		default:
			return e
		}
	}
}

func (p *pass) followHolder(t *trail, holder *types.Var) bool {
	if t.holders[holder] {
		return true
	}
	t.holders[holder] = true
	values, ok := p.sources(holder)
	if !ok {
		return false
	}
	for _, v := range values {
		if !p.follow(t, v) {
			return false
		}
	}
	return true
}

func (p *pass) followResult(t *trail, fn *types.Func, decl inspector.Cursor, result int) bool {
	if t.through[fn] {
		return true
	}
	t.through[fn] = true
	for c := range decl.Preorder((*ast.ReturnStmt)(nil)) {
		if p.enclosingFunc(c) != decl {
			continue
		}
		ret := c.Node().(*ast.ReturnStmt)
		v := value{}
		switch n := fn.Signature().Results().Len(); {
		case len(ret.Results) == n && result < n:
			v.expr = ret.Results[result]
		case len(ret.Results) == 1:
			v.expr, v.result = ret.Results[0], result
		case len(ret.Results) == 0 && result < n:
			if !p.followHolder(t, fn.Signature().Results().At(result)) {
				return false
			}
			continue
		default:
			return false
		}
		if !p.follow(t, v) {
			return false
		}
	}
	return true
}

// enclosingFunc returns the innermost function declaration or literal around c,
// or the invalid cursor.
func (p *pass) enclosingFunc(c inspector.Cursor) inspector.Cursor {
	for f := range c.Enclosing((*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		return f
	}
	return inspector.Cursor{}
}

// signature returns the type of a function declaration or literal, or nil.
func (p *pass) signature(f inspector.Cursor) *types.Signature {
	switch n := f.Node().(type) {
	case *ast.FuncDecl:
		if fn, ok := p.TypesInfo.Defs[n.Name].(*types.Func); ok {
			return fn.Signature()
		}
	case *ast.FuncLit:
		sig, _ := p.TypesInfo.TypeOf(n).(*types.Signature)
		return sig
	}
	return nil
}

// inSight reports whether only this package can assign to v. Nobody imports a
// program, so there exported names are in sight too.
func (p *pass) inSight(v *types.Var) bool {
	if v.Pkg() != p.Pkg {
		return false
	}
	if p.Pkg.Name() == "main" || !v.Exported() {
		return true
	}
	return !v.IsField() && v.Parent() != p.Pkg.Scope()
}

// sources returns every value that v is ever given, or false if one of them is
// out of sight.
func (p *pass) sources(v *types.Var) ([]value, bool) {
	if !p.inSight(v) {
		return nil, false
	}
	var values []value
	for _, e := range p.elems[v] {
		values = append(values, value{expr: e})
	}
	for _, c := range p.uses[v] {
		if p.useOf(c).fate != defined {
			continue
		}
		if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
			c = c.Parent()
		}
		got, ok := p.assigned(v, c)
		if !ok {
			return nil, false
		}
		values = append(values, got...)
	}
	return values, len(values) > 0
}

// assigned returns what the definition at c gives to v.
func (p *pass) assigned(v *types.Var, c inspector.Cursor) ([]value, bool) {
	kind, i := c.ParentEdge()
	switch n := c.Parent().Node().(type) {
	case *ast.AssignStmt:
		return pick(n.Rhs, len(n.Lhs), i)
	case *ast.ValueSpec:
		if len(n.Values) == 0 {
			return p.zero(v), true
		}
		return pick(n.Values, len(n.Names), i)
	case *ast.KeyValueExpr:
		return []value{{expr: n.Value}}, kind == edge.KeyValueExpr_Key
	case *ast.Field:
		// A field starts as zero wherever its struct is made, and so does a named
		// result. A parameter starts out of sight.
		return p.zero(v), v.IsField() || c.Parent().Parent().ParentEdgeKind() == edge.FuncType_Results
	}
	return nil, false
}

// zero is the zero value of v, if that is of any use: a nil pointer can not be
// called, so it never is the value a rule asks about.
func (p *pass) zero(v *types.Var) []value {
	if isPointer(v.Type()) || types.IsInterface(v.Type()) {
		return nil
	}
	return []value{{holder: v}}
}

func pick(from []ast.Expr, n, i int) ([]value, bool) {
	switch {
	case len(from) == n:
		return []value{{expr: from[i]}}, true
	case len(from) == 1:
		return []value{{expr: from[0], result: i}}, true
	}
	return nil, false
}
