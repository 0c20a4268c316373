package check

// r06 is whether the floor of the budgets is above the budgets.
type r06 struct {
	Proxies int
	Min     int     `json:"minc"`
	Load    float64 `json:"l"`
	Percent float64 `json:"pct"`
}

func (n r06) verdict() Verdict {
	floor := n.Proxies * n.Min
	meant := n.Percent / 100 * n.Load
	return holds(float64(floor) <= meant, say("floor %d concurrent retries fleet-wide vs %.4g by percentage (L=%.4g)", floor, meant, n.Load),
		say("minRetryConcurrency %d: it is for each proxy", int(meant)/max(n.Proxies, 1))).over(float64(floor) / meant)
}

func ruleR06() Rule {
	return rule(Rule{
		ID: "R06", Title: "the floor of the retry budget is above the budget", Severity: Warning,
		Breaks: "proxies x minRetryConcurrency > percent x calls in flight",
		Source: "Envoy's retry budget is for each proxy", Needs: "a retry budget, a rate and a latency",
	}, func(w *World, emit func(Place, r06)) {
		for _, c := range w.ways() {
			if c.Policy != nil && c.Policy.Budget != nil && c.Rate*c.Mean > 0 {
				emit(Place{Subject: c.Name, Ref: c.Policy.Budget.Ref}, r06{c.Proxies, c.Policy.Budget.Min, c.Rate * c.Mean, w.budgetPercent(c.Policy.Budget)})
			}
		}
	})
}
