package vet

import (
	"fmt"
	"go/ast"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"
)

// New returns the analyzer. Its flags change opts' copy, one for each field,
// and keep it when they are not given. A nil opts is the zero Options. The
// error names every mistake in opts.
//
// Runs of one analyzer may be concurrent; parsing its flags may not.
func New(opts *Options) (*analysis.Analyzer, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("vet: %w", err)
	}
	a := &analysis.Analyzer{
		Name:      "offtake",
		Doc:       "report calls that nothing bounds and clients built outside the factory\n\n" + ruleList(),
		URL:       docURL,
		Requires:  []*analysis.Analyzer{inspect.Analyzer},
		FactTypes: []analysis.Fact{(*UnboundedClient)(nil), (*WritesClientParam)(nil), (*GlobalResult)(nil), (*Factory)(nil)},
		Run: func(ap *analysis.Pass) (any, error) {
			return nil, run(ap, &o)
		},
	}
	o.bind(&a.Flags)
	return a, nil
}

func ruleList() string {
	var b strings.Builder
	for _, r := range Rules() {
		fmt.Fprintf(&b, "%s %-32s %-7s %s\n", r.ID, r.Name, r.Profile, r.Title)
	}
	return b.String()
}

// run applies all rules that are on to one package.
func run(ap *analysis.Pass, o *Options) error {
	if o.Skip || !relevant(ap.Pkg, o) && !hasDirective(ap.Files) {
		return nil
	}
	p := newPass(ap, o)
	p.exportFacts()
	p.readSuppressions()
	if !p.testSupport() {
		for c := range p.nodes((*ast.CallExpr)(nil), (*ast.CompositeLit)(nil), (*ast.SelectorExpr)(nil),
			(*ast.AssignStmt)(nil), (*ast.ValueSpec)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
			p.visit(c)
		}
	}
	p.reportAll()
	return nil
}

// visit hands a node to the rules that look at its kind.
func (p *pass) visit(c inspector.Cursor) {
	switch n := c.Node().(type) {
	case *ast.CallExpr:
		p.checkDefaultCall(c, n)
		p.checkClientCall(c, n)
		p.checkRequest(c, n)
		p.checkRPC(c, n)
		p.checkDial(c, n)
		p.checkWriterCall(c, n)
		p.checkGlobalMethod(c, n)
		p.checkIdleClose(n)
		p.checkConstructors(c, n)
		if p.isNew(n) {
			p.checkTransportPerCall(c, n)
		}
	case *ast.CompositeLit:
		p.checkLiteral(c, n)
		p.checkTransportPerCall(c, n)
		p.checkPool(c, n)
		p.checkPlan(n)
	case *ast.SelectorExpr:
		p.checkDefaultRef(c, n)
	case *ast.AssignStmt:
		for i, lhs := range n.Lhs {
			p.checkGlobalWrite(c, lhs)
			p.checkOwnField(lhs)
			if len(n.Rhs) == len(n.Lhs) {
				p.checkPlanField(lhs, n.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		p.checkZeroValue(n)
		p.checkTransportVar(c, n)
	case *ast.FuncDecl:
		p.checkCancel(c, n.Body)
		p.checkBusyAnswer(c, n.Body)
	case *ast.FuncLit:
		p.checkCancel(c, n.Body)
		p.checkBusyAnswer(c, n.Body)
	}
}
