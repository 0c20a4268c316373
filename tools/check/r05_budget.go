package check

import "slices"

// r05 is whether anything bounds retries as a share of calls.
type r05 struct {
	Tries      int `json:"n"`
	MaxRetries int `json:"maxr"`
	Budget     *float64
	Load       float64 `json:"l"`
}

func (n r05) verdict() Verdict {
	budget := "no budget"
	if n.Budget != nil {
		budget = say("budget %g%%", *n.Budget)
	}
	return holds(n.Tries <= 1 || n.Budget != nil || float64(n.MaxRetries) < n.Load, say("attempts %d, %s (max_retries %d)", n.Tries, budget, n.MaxRetries),
		say("retryBudget with percent 20 and minRetryConcurrency %d", min(3, max(1, int(n.Load/5))))).over(float64(n.Tries))
}

func ruleR05() Rule {
	return rule(Rule{
		ID: "R05", Title: "no retry budget", Severity: Warning,
		Breaks: "tries > 1, no retry budget, and max_retries is not below what is in flight",
		Source: "Istio's default for max_retries is 2^32-1", Needs: "a route that retries",
	}, func(w *World, emit func(Place, r05)) {
		for _, r := range w.routes() {
			repeats := slices.ContainsFunc(w.retryEras(), func(e Era) bool { return r.call.outageTries(e) > 1 })
			if r.Tries <= 1 || r.Plane == "grpc" || r.Plane == "linkerd" || !repeats && r.Tries <= 3 {
				continue // connections that fail are no load on who can not be reached
			}
			n := r05{Tries: r.Tries, MaxRetries: envoyMaxRetries, Load: r.call.Rate * r.call.Mean / float64(max(r.call.Proxies, 1))}
			switch r.Plane {
			case "istio":
				n.MaxRetries = istioMaxRetries
			case "envoy-gateway":
				n.MaxRetries = gatewayMaxRetries
			}
			if p := r.call.Policy; p != nil {
				n.MaxRetries = p.MaxRetries
				if p.Budget != nil {
					percent := w.budgetPercent(p.Budget)
					n.Budget = &percent
				}
			}
			if n.Load > 0 || n.MaxRetries == istioMaxRetries {
				emit(r.place(), n)
			}
		}
	})
}
