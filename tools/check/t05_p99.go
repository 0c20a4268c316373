package check

// t05 is whether healthy calls are cut off.
type t05 struct {
	Attempt float64 `json:"per"`
	P99     float64
}

func (n t05) verdict() Verdict {
	return holds(n.Attempt >= n.P99, say("per-try %g s < p99 %g s", n.Attempt, n.P99), say("%g s or more for an attempt; half as much again, %.4g s, leaves a margin", n.P99, n.P99*1.5)).over(n.P99 / n.Attempt)
}

func ruleT05() Rule {
	return rule(Rule{
		ID: "T05", Title: "an attempt is shorter than the p99", Severity: Warning,
		Breaks: "attempt timeout < healthy p99",
		Source: "one call in a hundred is then retried by design", Needs: "p99",
	}, func(w *World, emit func(Place, t05)) {
		for _, c := range w.poolWays() {
			if c.P99 == 0 || c.Unbounded {
				continue
			}
			if c.Attempt > 0 {
				emit(c.place(), t05{c.Attempt, c.P99})
			}
			if r := c.Route; r != nil && r.PerTry > 0 {
				emit(Place{Subject: "route to " + c.Name, Ref: r.Ref}, t05{r.PerTry, c.P99})
			}
		}
	})
}
