package vet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ast/inspector"
	"golang.org/x/tools/go/cfg"
)

// reaches reports whether what the node from assigned can still be there when
// control comes to the node to, with none of the nodes kills in between. All
// are nodes of one function body. A nil from is the start of the function.
func reaches(body *ast.BlockStmt, from, to ast.Node, kills []ast.Node) bool {
	graph := cfg.New(body, func(*ast.CallExpr) bool { return true })
	type place struct {
		block *cfg.Block
		node  int
	}
	start := place{block: graph.Blocks[0]}
	if from != nil {
		b, i := find(graph, from)
		if b == nil {
			return false
		}
		start = place{b, i + 1}
	}
	seen := make(map[*cfg.Block]bool)
	queue := []place{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		killed := false
		for _, n := range at.block.Nodes[at.node:] {
			if covers(n, to) {
				return true
			}
			if slices.ContainsFunc(kills, func(k ast.Node) bool { return covers(n, k) }) {
				killed = true
				break
			}
		}
		if killed {
			continue
		}
		for _, next := range at.block.Succs {
			if !seen[next] {
				seen[next] = true
				queue = append(queue, place{block: next})
			}
		}
	}
	return false
}

// find returns the block, and the index in it, of the innermost node that covers n.
func find(graph *cfg.CFG, n ast.Node) (*cfg.Block, int) {
	for _, b := range graph.Blocks {
		for i, have := range b.Nodes {
			if covers(have, n) {
				return b, i
			}
		}
	}
	return nil, 0
}

func covers(outer, inner ast.Node) bool {
	return outer.Pos() <= inner.Pos() && inner.End() <= outer.End()
}

// conditions returns the variables that decide, within its function, whether c
// is reached, leaving out those that decide for other as well, if there is one.
func (p *pass) conditions(c, other inspector.Cursor) map[types.Object]bool {
	vars := make(map[types.Object]bool)
	f := p.enclosingFunc(c)
	for stmt := range c.Enclosing((*ast.IfStmt)(nil), (*ast.SwitchStmt)(nil), (*ast.CaseClause)(nil)) {
		if !f.Contains(stmt) || other.Valid() && sameBranch(stmt.Node(), c.Node(), other.Node()) {
			break
		}
		switch s := stmt.Node().(type) {
		case *ast.IfStmt:
			if c.Node().Pos() > s.Cond.Pos() { // what comes first is reached anyway
				p.variables(s.Cond, vars)
			}
		case *ast.SwitchStmt:
			if c.Node().Pos() > s.Body.Pos() {
				p.variables(s.Tag, vars)
			}
		case *ast.CaseClause:
			for _, e := range s.List {
				p.variables(e, vars)
			}
		}
	}
	return vars
}

// sameBranch reports whether stmt decides for both nodes at once.
func sameBranch(stmt, a, b ast.Node) bool {
	switch s := stmt.(type) {
	case *ast.IfStmt:
		return covers(s.Body, a) && covers(s.Body, b)
	case *ast.CaseClause:
		return covers(s, a) && covers(s, b)
	}
	return false
}

// variables adds the variables that e mentions.
func (p *pass) variables(e ast.Expr, to map[types.Object]bool) {
	if e == nil {
		return
	}
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := p.TypesInfo.Uses[id].(*types.Var); ok {
				to[v.Origin()] = true
			}
		}
		return true
	})
}
