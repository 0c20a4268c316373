package check

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// m03 is whether a counter is read as a state.
type m03 struct {
	Expr string
}

func (n m03) verdict() Verdict {
	return holds(!comparesCounter(n.Expr), strings.Join(strings.Fields(n.Expr), " "), "increase() or rate() above 0: a counter never falls again")
}

// comparesCounter reports whether a counter, or a sum of some, stands directly before a
// comparison. A counter inside rate() is followed by its range, and so never does.
func comparesCounter(expr string) bool {
	const (
		counter = `\b\w*(?:lb_healthy_panic|ejections_(?:enforced|detected|overflow)\w*|_total)(?:\{[^}]*\})?\s*`
		labels  = `(?:(?:by|without)\s*\([^)]*\)\s*)?`
		sum     = `\b(?:sum|max|min|avg)\s*` + labels + `\(\s*` + counter + `\)\s*` + labels
	)
	return regexp.MustCompile(`(?:` + counter + `|` + sum + `)(?:==|!=|>=|<=|>|<)\s*(?:bool\s*)?[0-9.]`).MatchString(expr)
}

func ruleM03() Rule {
	return rule(Rule{
		ID: "M03", Title: "a counter is used as a flag", Severity: Warning,
		Breaks: "an alert compares a counter with a constant",
		Source: "lb_healthy_panic counts requests, and never returns to 0", Needs: "an alert's expression",
	}, func(w *World, emit func(Place, m03)) {
		for _, name := range slices.Sorted(maps.Keys(w.Contract.Alerts)) {
			if a := w.Contract.Alerts[name]; a.Expr != "" {
				emit(Place{Subject: name, Ref: w.at("alerts." + name)}, m03{a.Expr})
			}
		}
		for _, o := range manifest.Of[*manifest.Alerts](w.Manifest) {
			a := o.Value.(*manifest.Alerts)
			for i, expr := range a.Exprs {
				emit(Place{Subject: a.Names[i], Ref: o.At(a.Paths[i]...)}, m03{expr})
			}
		}
	})
}
