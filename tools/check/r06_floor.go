package check

// r06 is whether the floor of the budgets is above the budgets.
type r06 struct {
	Proxies int
	Min     int     `json:"minc"`
	Load    float64 `json:"l"`
	Percent float64 `json:"pct"`

	// Clusters have a floor each, of which Min is the sum; 0 is one.
	Clusters int
}

func (n r06) verdict() Verdict {
	floor := n.Proxies * n.Min
	meant := n.Percent / 100 * n.Load
	of := ""
	if n.Clusters > 1 {
		of = say(" of %d subsets or ports", n.Clusters)
	}
	least := max(n.Proxies, 1) * max(n.Clusters, 1)
	return holds(float64(floor) <= meant || n.Min <= max(n.Clusters, 1), say("floor %d concurrent retries fleet-wide%s vs %.4g by percentage (L=%.4g)", floor, of, meant, n.Load),
		say("minRetryConcurrency %d: it is for each proxy%s", max(1, int(meant)/least), map[bool]string{true: " and each of them"}[n.Clusters > 1])).over(float64(floor) / meant)
}

func ruleR06() Rule {
	return rule(Rule{
		ID: "R06", Title: "the floor of the retry budget is above the budget", Severity: Warning,
		Breaks: "proxies x minRetryConcurrency > percent x calls in flight, and it is not 1, the least there is",
		Source: "Envoy's retry budget is for each proxy", Needs: "a retry budget, a rate and a latency",
	}, func(w *World, emit func(Place, r06)) {
		for _, c := range w.Calls {
			if all := c.budgets(); len(all) > 0 && c.Rate*c.Mean > 0 {
				n := r06{Proxies: c.Proxies, Load: c.Rate * c.Mean, Clusters: len(all)}
				for _, b := range all {
					n.Min += b.Min
					n.Percent = max(n.Percent, w.budgetPercent(b))
				}
				emit(Place{Subject: c.Name, Ref: all[0].Ref}, n)
			}
		}
	})
}

// budgets are those that the requests of a call have, one for each cluster: its floor
// is for each too, while they share what is in flight.
func (c Call) budgets() []*Budget {
	var all []*Budget
	seen := map[cluster]bool{}
	for _, each := range c.ways {
		if each.led && !seen[each.to] && each.policy != nil && each.policy.Budget != nil && !each.policy.Budget.IsRate {
			seen[each.to] = true
			all = append(all, each.policy.Budget)
		}
	}
	return all
}
