package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ast/inspector"
)

// checkPool is OT204, OT205 and OT207: the sizes of a transport's pool. Where
// they should be cannot be decided from one literal, so all three are advice.
func (p *pass) checkPool(c inspector.Cursor, lit *ast.CompositeLit) {
	if !isTransport(p.TypesInfo.TypeOf(lit)) {
		return
	}
	sizes := make(map[string]ast.Expr)
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		sizes[keyName(kv)] = kv.Value
	}
	later := p.laterFields(c)
	if idle, ok := p.constantInt(sizes["MaxIdleConns"]); ok && idle > 2 && sizes["MaxIdleConnsPerHost"] == nil && !later["MaxIdleConnsPerHost"] {
		p.report("OT204", sizes["MaxIdleConns"], nil, "MaxIdleConns is %d, but MaxIdleConnsPerHost stays 2: to one host, all but two connections are closed after each use", idle)
	}
	if sizes["MaxConnsPerHost"] == nil && !later["MaxConnsPerHost"] {
		p.report("OT205", lit, nil, "MaxConnsPerHost is 0, no limit: a slow host takes as many connections as there are calls")
	}
	for _, name := range []string{"MaxConnsPerHost", "MaxIdleConns", "MaxIdleConnsPerHost"} {
		if n, ok := p.constantInt(sizes[name]); ok && n > 0 {
			p.report("OT207", sizes[name], nil, "%s is the number %d: derive it from rate × latency (capacity.Demand)", name, n)
		}
	}
}

// laterFields returns the fields that are written after the literal at c was
// put into a variable.
func (p *pass) laterFields(c inspector.Cursor) map[string]bool {
	for {
		if _, ok := c.Parent().Node().(*ast.UnaryExpr); !ok {
			break
		}
		c = c.Parent()
	}
	fields := make(map[string]bool)
	v, ok := p.consumed(c, c.Parent()).target.(*types.Var)
	if !ok {
		return fields
	}
	for _, use := range p.uses[v] {
		if u := p.useOf(use); u.fate == wrote {
			fields[u.field] = true
		}
	}
	return fields
}

func (p *pass) constantInt(e ast.Expr) (int64, bool) {
	if e == nil {
		return 0, false
	}
	v := p.TypesInfo.Types[e].Value
	if v == nil || v.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(v)
}

// checkPlan is OT802: a plan whose sizes someone wrote down.
func (p *pass) checkPlan(lit *ast.CompositeLit) {
	if !isNamed(p.TypesInfo.TypeOf(lit), pkgCapacity, "Plan") || strings.HasPrefix(p.Pkg.Path(), pkgCapacity) {
		return
	}
	for _, elt := range lit.Elts {
		kv, ok := elt.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if n, ok := p.constantInt(kv.Value); ok && n > 0 && isPlanSize(keyName(kv)) {
			p.report("OT802", lit, nil, "capacity.Plan states %s %d by hand: derive it with capacity.Demand.Plan", keyName(kv), n)
			return
		}
	}
}

// checkPlanField is OT802 for one left side of an assignment.
func (p *pass) checkPlanField(lhs, from ast.Expr) {
	sel, ok := ast.Unparen(lhs).(*ast.SelectorExpr)
	if !ok || !isPlanSize(sel.Sel.Name) || strings.HasPrefix(p.Pkg.Path(), pkgCapacity) {
		return
	}
	field, ok := p.object(sel).(*types.Var)
	if !ok || !field.IsField() || field.Pkg() == nil || field.Pkg().Path() != pkgCapacity || !isNamed(p.TypesInfo.TypeOf(sel.X), pkgCapacity, "Plan") {
		return
	}
	if n, ok := p.constantInt(from); ok && n > 0 {
		p.report("OT802", lhs, nil, "capacity.Plan is given %s %d by hand: derive it with capacity.Demand.Plan", sel.Sel.Name, n)
	}
}

// isPlanSize reports whether a field of capacity.Plan is a number that a Demand
// derives.
func isPlanSize(field string) bool {
	return field == "InFlight" || field == "Connections" || field == "Queue"
}
