package check

import "github.com/offtake-go/offtake/capacity"

// c09 is whether enough idle connections are kept.
type c09 struct {
	Idle int
	Load float64 `json:"l"`
}

func (n c09) verdict() Verdict {
	least := capacity.SquareRootStaffing(n.Load, 2)
	return holds(float64(n.Idle) >= least,
		say("idle %d < %.4g: about 1/(idle+1) = %s of calls dial a new connection (exact chain: %s for idle %d, L %.4g)",
			n.Idle, least, share(1/float64(n.Idle+1)), share(capacity.DialChance(n.Load, n.Idle)), n.Idle, n.Load),
		say("MaxIdleConnsPerHost %d or more; as many as MaxConnsPerHost, where that is set", ceilTo(least)))
}

func ruleC09() Rule {
	return rule(Rule{
		ID: "C09", Title: "a small idle pool churns connections", Severity: Warning,
		Breaks: "idle connections kept < load + 2 x sqrt(load) of one replica",
		Source: "the Markov chain of busy and idle connections", Needs: "a client of HTTP/1.1, a rate and a latency",
	}, func(w *World, emit func(Place, c09)) {
		for _, c := range w.pools() {
			p := c.Pool
			if p.Foreign && !shares(*c.Upstream) && c.Mean > 0 && (p.Cap == 0 || p.Idle < p.Cap) {
				emit(c.place(), c09{p.Idle, c.Rate * c.Mean / float64(w.Service.Min)})
			}
		}
	})
}
