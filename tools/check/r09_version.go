package check

// r09 is whether a retry budget works in this version of Istio.
type r09 struct {
	Minor   int
	Patched bool
	Percent *float64
	Subset  bool
}

func (n r09) verdict() Verdict {
	percent := 20.0
	switch {
	case n.Percent != nil:
		percent = *n.Percent
	case n.Minor >= 27 && n.Minor <= 29 && !n.Patched:
		percent = 0.2
	}
	dropped := n.Subset && n.Minor < 30
	return holds(percent >= 1 && !dropped, say("effective percent %g, dropped by subset=%v", percent, dropped),
		"percent 20, written out; the budget repeated in the subset; or Istio 1.30")
}

func ruleR09() Rule {
	return rule(Rule{
		ID: "R09", Title: "the retry budget does not work in this version", Severity: Error,
		Breaks: "retryBudget without percent where the default is 0.2% (1.27.0 until 1.28.9 and 1.29.2), or with a subset's policy before 1.30",
		Source: "Istio's release notes on retryBudget", Needs: "a retryBudget and Istio's version",
	}, func(w *World, emit func(Place, r09)) {
		for _, c := range w.ways() {
			if c.Policy == nil || c.Policy.Budget == nil || c.Policy.Budget.IsRate || c.Policy.Plane != "istio" {
				continue
			}
			b := c.Policy.Budget
			for _, e := range w.budgetEras() {
				emit(Place{Subject: c.Name, Ref: b.Ref, Era: e.Name}, r09{e.Minor, w.budgetPatched(), b.Percent, b.InSubset})
			}
		}
	})
}

// budgetEras are those in which retryBudget differs.
func (w *World) budgetEras() []Era {
	if minor, ok := minorOf(w.Version); ok {
		return []Era{{Minor: minor}}
	}
	return []Era{{Name: "Istio 1.27 to 1.29", Minor: 27}, {Name: "Istio 1.30 and later", Minor: 30}}
}

// budgetPatched reports whether the default is 20 % in this patch release.
func (w *World) budgetPatched() bool {
	minor, ok := minorOf(w.Version)
	switch patch := patchOf(w.Version); {
	case !ok:
		return false
	case minor == 28:
		return patch >= 9
	case minor == 29:
		return patch >= 2
	default:
		return minor >= 30
	}
}

// budgetPercent is what a budget without a percentage means.
func (w *World) budgetPercent(b *Budget) float64 {
	if b.Percent != nil {
		return *b.Percent
	}
	return 20
}
