package vet

import (
	"cmp"
	"fmt"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// A finding is a report that may still be suppressed.
type finding struct {
	rule Rule
	rng  analysis.Range
	msg  string
	fix  []analysis.TextEdit
	todo string // what the fix does
}

// A fix is what to change, and what to call it. A nil fix is none.
type fix struct {
	message string
	edits   []analysis.TextEdit
}

// report keeps a finding, if its rule is on.
func (p *pass) report(id string, at analysis.Range, f *fix, format string, args ...any) {
	rule, ok := p.on[id]
	if !ok {
		return
	}
	found := finding{rule: rule, rng: at, msg: id + ": " + fmt.Sprintf(format, args...)}
	if f != nil {
		found.fix, found.todo = f.edits, f.message
	}
	p.findings = append(p.findings, found)
}

// reportAll hands the findings on, in order, without those that a suppression
// or a graver finding about the same code covers.
func (p *pass) reportAll() {
	slices.SortStableFunc(p.findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.rng.Pos(), b.rng.Pos()), cmp.Compare(a.rule.ID, b.rule.ID))
	})
	found := slices.DeleteFunc(slices.Clone(p.findings), p.covered)
	found = slices.DeleteFunc(found, p.suppressed)
	found = append(found, p.aboutSuppressions()...)
	for _, f := range found {
		d := analysis.Diagnostic{
			Pos:      f.rng.Pos(),
			End:      f.rng.End(),
			Category: f.rule.ID,
			URL:      f.rule.URL(),
			Message:  f.msg,
		}
		if len(f.fix) > 0 {
			d.SuggestedFixes = []analysis.SuggestedFix{{Message: f.todo, TextEdits: f.fix}}
		}
		p.Report(d)
	}
}

// covered reports whether a defect was found in the code that f, which is mere
// policy, speaks about. One line is enough to say that a client is wrong.
func (p *pass) covered(f finding) bool {
	if f.rule.Profile == Bugs {
		return false
	}
	return slices.ContainsFunc(p.findings, func(g finding) bool {
		return g.rule.Profile == Bugs && g.rng.Pos() <= f.rng.Pos() && f.rng.End() <= g.rng.End()
	})
}
