package check

import "cmp"

// t05 is whether healthy calls are cut off.
type t05 struct {
	Attempt float64 `json:"per"`
	P99     float64

	// What is shorter, and Mean says that P99 is a mean, where no more is known.
	What string
	Mean bool
}

func (n t05) verdict() Verdict {
	what, of := cmp.Or(n.What, "per-try"), "p99"
	if n.Mean {
		of = "mean"
	}
	return holds(n.Attempt >= n.P99, say("%s %g s < %s %g s", what, n.Attempt, of, n.P99), say("%g s or more for an attempt; half as much again, %.4g s, leaves a margin", n.P99, n.P99*1.5)).over(n.P99 / n.Attempt)
}

func ruleT05() Rule {
	return rule(Rule{
		ID: "T05", Title: "an attempt is shorter than the p99", Severity: Warning,
		Breaks: "the timeout of an attempt, of a try or of a route < healthy p99, or < the mean inside the door of what comes in",
		Source: "one call in a hundred is then retried by design", Needs: "p99",
	}, func(w *World, emit func(Place, t05)) {
		for _, c := range w.ways() {
			n := t05{P99: c.P99}
			if c.Inbound {
				n.P99, n.Mean = c.Mean, true
			}
			if n.P99 == 0 {
				continue
			}
			if c.Pool != nil && !c.Unbounded && c.Attempt > 0 {
				n.Attempt = c.Attempt
				emit(c.place(), n)
			}
			if r := c.Route; r != nil && !r.Unknown {
				n.Attempt, n.What = r.PerTry, "per-try"
				if n.Attempt == 0 {
					n.Attempt, n.What = r.Timeout, "route"
				}
				if n.Attempt > 0 {
					emit(Place{Subject: "route to " + c.Name, Ref: cmp.Or(r.Ref, c.Ref)}, n)
				}
			}
		}
	})
}
