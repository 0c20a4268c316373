package check

// r09 is whether a retry budget works in this version of Istio.
type r09 struct {
	Minor, Patch int
	Percent      *float64

	// Subset says that a subset has a policy of its own, and Port that there are
	// settings of the port.
	Subset, Port bool
}

func (n r09) verdict() Verdict {
	percent := 20.0
	switch {
	case n.Percent != nil:
		percent = *n.Percent
	case n.before(28, 6) && n.Minor >= 27:
		percent = 0.2
	}
	dropped := n.Subset && n.before(29, 2)
	switch evidence := say("effective percent %g, dropped by subset=%v", percent, dropped); {
	case n.Minor < 27:
		return holds(false, say("Istio 1.%d has no retryBudget, and drops it", n.Minor), "Istio 1.29.2 or later; until then fewer attempts")
	case n.Port:
		return holds(false, "portLevelSettings drop the budget, in every version", "a rule without portLevelSettings, or fewer attempts")
	case dropped:
		return holds(false, evidence, "Istio 1.29.2 or later: before, a budget that the subset repeats is dropped too; or no policy in the subset")
	default:
		return holds(percent >= 1, evidence, "percent 20, written out; or Istio 1.28.6")
	}
}

func (n r09) before(minor, patch int) bool {
	return n.Minor < minor || n.Minor == minor && n.Patch < patch
}

func ruleR09() Rule {
	return rule(Rule{
		ID: "R09", Title: "the retry budget does not work in this version", Severity: Error,
		Breaks: "retryBudget before 1.27; without percent until 1.28.5, where the default is 0.2%; with a subset's policy before 1.29.2; or with portLevelSettings",
		Source: "Istio's cluster_traffic_policy.go from 1.27.0 to 1.30.0", Needs: "a retryBudget and Istio's version",
	}, func(w *World, emit func(Place, r09)) {
		for _, c := range w.ways() {
			if c.Policy == nil || c.Policy.Budget == nil || c.Policy.Budget.IsRate || c.Policy.Plane != "istio" {
				continue
			}
			b := c.Policy.Budget
			for _, e := range w.budgetEras() {
				emit(Place{Subject: c.Name, Ref: b.Ref, Era: e.Name}, r09{e.Minor, e.patch, b.Percent, b.InSubset, b.InPort})
			}
		}
	})
}

// A budgetEra is one in which retryBudget differs.
type budgetEra struct {
	Era
	patch int
}

// budgetEras leave out the versions without the field where none is known: who writes
// it has a newer one.
func (w *World) budgetEras() []budgetEra {
	if minor, ok := minorOf(w.Version); ok {
		return []budgetEra{{Era{Minor: minor}, patchOf(w.Version)}}
	}
	return []budgetEra{
		{Era{Name: "Istio 1.27 to 1.28.5", Minor: 27}, 0}, {Era{Name: "Istio 1.28.6 to 1.29.1", Minor: 28}, 6}, {Era{Name: "Istio 1.29.2 and later", Minor: 29}, 2},
	}
}

// budgetPercent is what a budget without a percentage means.
func (w *World) budgetPercent(b *Budget) float64 {
	if b.Percent != nil {
		return *b.Percent
	}
	return 20
}
