package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// A fate is what one mention of a variable does to its value.
type fate int

const (
	unknown  fate = iota // out of sight
	defined              // its declaration, or the left side of an assignment
	read                 // looked at or copied
	wrote                // a field of it is written, or its address taken
	called               // a method of it is called
	passed               // an argument
	stored               // kept in another variable or field
	returned             // a result
)

// A use is one mention of a variable or field.
type use struct {
	fate   fate
	at     inspector.Cursor // the expression that carries the value
	field  string           // wrote, read: the field
	method *types.Func      // called
	call   *ast.CallExpr    // passed, called; nil for a method value
	arg    int              // passed
	target types.Object     // stored: nil if it is no variable or field
}

// useOf climbs from the identifier at c to whatever consumes the value.
func (p *pass) useOf(c inspector.Cursor) use {
	id := c.Node().(*ast.Ident)
	pointer := isPointer(p.TypesInfo.TypeOf(id)) || p.isInterface(id)
	if c.ParentEdgeKind() == edge.SelectorExpr_Sel {
		c = c.Parent()
	}
	deref := false
	for {
		parent := c.Parent()
		switch n := parent.Node().(type) {
		case *ast.ParenExpr, *ast.TypeAssertExpr:
			c = parent
			continue
		case *ast.StarExpr:
			pointer, deref = false, true
			c = parent
			continue
		case *ast.UnaryExpr:
			if n.Op != token.AND {
				return use{fate: unknown, at: c}
			}
			pointer = true
			c = parent
			continue
		case *ast.SelectorExpr:
			return p.selected(c, parent, n)
		case *ast.CallExpr:
			if c.ParentEdgeKind() == edge.CallExpr_Args && p.TypesInfo.Types[n.Fun].IsType() {
				c = parent
				continue
			}
		}
		u := p.consumed(c, parent)
		if deref && u.fate == defined {
			return use{fate: wrote, at: c, field: "*"}
		}
		if !pointer && (u.fate == passed || u.fate == stored || u.fate == returned) {
			u.fate = read // a copy; what becomes of it can not reach the original
		}
		return u
	}
}

func (p *pass) isInterface(e ast.Expr) bool {
	t := p.TypesInfo.TypeOf(e)
	return t != nil && types.IsInterface(t)
}

// selected is the use v.Sel.
func (p *pass) selected(c, parent inspector.Cursor, sel *ast.SelectorExpr) use {
	if fn, ok := p.object(sel).(*types.Func); ok {
		u := use{fate: called, at: c, method: fn}
		if parent.ParentEdgeKind() == edge.CallExpr_Fun {
			u.call = parent.Parent().Node().(*ast.CallExpr)
		}
		return u
	}
	u := use{fate: read, at: c, field: sel.Sel.Name}
	switch parent.ParentEdgeKind() {
	case edge.AssignStmt_Lhs, edge.IncDecStmt_X:
		u.fate = wrote
	case edge.UnaryExpr_X:
		if parent.Parent().Node().(*ast.UnaryExpr).Op == token.AND {
			u.fate = wrote
		}
	}
	return u
}

// consumed is the use of the value at c by its parent, which is no operator.
func (p *pass) consumed(c, parent inspector.Cursor) use {
	kind, i := c.ParentEdge()
	u := use{fate: unknown, at: c}
	switch kind {
	case edge.CallExpr_Args:
		u.fate, u.call, u.arg = passed, parent.Node().(*ast.CallExpr), i
	case edge.ReturnStmt_Results:
		u.fate = returned
	case edge.BinaryExpr_X, edge.BinaryExpr_Y, edge.ExprStmt_X, edge.SwitchStmt_Tag:
		u.fate = read
	case edge.AssignStmt_Lhs, edge.ValueSpec_Names, edge.Field_Names, edge.KeyValueExpr_Key:
		u.fate = defined
	case edge.Field_Type: // an embedded field
		u.fate = defined
	case edge.AssignStmt_Rhs:
		// The left side of t, ok := v.(T) is longer, and its first is the value.
		if assign := parent.Node().(*ast.AssignStmt); i < len(assign.Lhs) {
			u.fate, u.target = stored, p.object(assign.Lhs[i])
			if isBlank(assign.Lhs[i]) {
				u.fate = read
			}
		}
	case edge.ValueSpec_Values:
		if spec := parent.Node().(*ast.ValueSpec); i < len(spec.Names) {
			u.fate, u.target = stored, p.object(spec.Names[i])
			if isBlank(spec.Names[i]) {
				u.fate = read
			}
		}
	case edge.KeyValueExpr_Value:
		if key, ok := p.object(parent.Node().(*ast.KeyValueExpr).Key).(*types.Var); ok && key.IsField() {
			u.fate, u.target = stored, key
		}
	case edge.CompositeLit_Elts:
		if fields, ok := structOf(p.TypesInfo.TypeOf(parent.Node().(*ast.CompositeLit))); ok && i < fields.NumFields() {
			u.fate, u.target = stored, fields.Field(i).Origin()
		}
	}
	return u
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}
