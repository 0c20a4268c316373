package check

import (
	"maps"
	"slices"
)

// m01 is whether an alert can fire before it is too late.
type m01 struct {
	Threshold float64 `json:"th"`
	Cliff     float64
}

func (n m01) verdict() Verdict {
	return holds(n.Threshold <= n.Cliff, say("threshold %g s, p95 stays at %g s until requests time out", n.Threshold, n.Cliff), say("below %g s: twice the healthy p95, or 0.8 x the caller's deadline", n.Cliff))
}

func ruleM01() Rule {
	return rule(Rule{
		ID: "M01", Title: "a latency alert above the cliff", Severity: Warning,
		Breaks: "the alert's threshold > the p95 just before saturation",
		Source: "between the cliff and the timeout there is no latency to see", Needs: "an alert with latency and cliff",
	}, func(w *World, emit func(Place, m01)) {
		for _, name := range slices.Sorted(maps.Keys(w.Contract.Alerts)) {
			if a := w.Contract.Alerts[name]; a.Latency > 0 && a.Cliff > 0 {
				emit(Place{Subject: name, Ref: w.at("alerts." + name)}, m01{a.Latency.Seconds(), a.Cliff.Seconds()})
			}
		}
	})
}
