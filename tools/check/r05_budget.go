package check

// r05 is whether anything bounds retries as a share of calls.
type r05 struct {
	N, Maxr int
	Budget  *float64
	L       float64
}

func (n r05) verdict() Verdict {
	budget := "None"
	if n.Budget != nil {
		budget = say("%g", *n.Budget)
	}
	return holds(n.N <= 1 || n.Budget != nil || float64(n.Maxr) < n.L, say("attempts %d, budget %s, max_retries %d", n.N, budget, n.Maxr),
		"retryBudget with percent 20 and minRetryConcurrency 3")
}

func ruleR05() Rule {
	return rule(Rule{
		ID: "R05", Title: "no retry budget", Severity: Warning,
		Breaks: "tries > 1, no retry budget, and max_retries is not below what is in flight",
		Source: "Istio's default for max_retries is 2^32-1", Needs: "a route that retries",
	}, func(w *World, emit func(Place, r05)) {
		for _, r := range w.routes() {
			if r.Tries <= 1 || r.Plane == "grpc" {
				continue
			}
			n := r05{N: r.Tries, Maxr: istioMaxRetries, L: r.call.Rate * r.call.Mean / float64(max(r.call.Proxies, 1))}
			if p := r.call.Policy; p != nil {
				n.Maxr = p.MaxRetries
				if p.Budget != nil {
					percent := w.budgetPercent(p.Budget)
					n.Budget = &percent
				}
			} else if r.Plane == "envoy" {
				n.Maxr = 3
			}
			emit(r.place(), n)
		}
	})
}
