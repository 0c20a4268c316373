package check

// k04 is whether calls can end before the process is killed.
type k04 struct {
	PreStop float64 `json:"pre"`
	Longest float64 `json:"req"`
	Grace   float64
}

func (n k04) verdict() Verdict {
	return holds(n.PreStop+n.Longest <= n.Grace, say("%g + %g vs %g s", n.PreStop, n.Longest, n.Grace), say("terminationGracePeriodSeconds %d", ceilTo(n.PreStop+n.Longest+2))).scaled(n.Grace, n.PreStop+n.Longest, "s")
}

func ruleK04() Rule {
	return rule(Rule{
		ID: "K04", Title: "draining takes longer than the grace", Severity: Error,
		Breaks: "preStop + the longest request > terminationGracePeriodSeconds",
		Source: "preStop runs inside the grace period", Needs: "a workload's manifest and a deadline",
	}, func(w *World, emit func(Place, k04)) {
		s := w.Service
		longest := w.longestRequest()
		if s.Known && longest > 0 {
			emit(Place{Subject: s.Name, Ref: s.Ref}, k04{s.PreStop, longest, s.Grace})
		}
	})
}
