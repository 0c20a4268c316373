package check

import "github.com/offtake-go/offtake/capacity"

// c02 is how often a call has to wait at peak.
type c02 struct {
	Rate      float64
	Latency   float64 `json:"lat"`
	Target    float64
	Pods, Cap int
}

func (n c02) verdict() Verdict {
	rate := n.Rate / float64(n.Pods)
	load := rate * n.Latency
	chance, wait := capacity.ErlangC(n.Cap, load), "unbounded"
	if mean := capacity.MeanWait(n.Cap, rate, n.Latency); mean < 1e6 {
		wait = say("%.4g s", mean)
	}
	enough, err := capacity.PlacesFor(load, n.Target)
	remedy := say("%d places bring it to %s", enough, share(capacity.ErlangC(enough, load)))
	if err != nil {
		remedy = "more replicas or a lower latency"
	}
	return holds(chance <= n.Target,
		say("a=%.4g erlangs on %d connections: rho=%.4g, P(wait)=%.4g, mean wait=%s", load, n.Cap, load/float64(n.Cap), chance, wait), remedy)
}

func ruleC02() Rule {
	return rule(Rule{
		ID: "C02", Title: "no headroom in the pool", Severity: Warning,
		Breaks: "the chance to wait at peak, by Erlang C, is above its target (10% if none is stated)",
		Source: "Erlang C", Needs: "a rate, a latency and a pool",
	}, func(w *World, emit func(Place, c02)) {
		for _, c := range w.pools() {
			if c.Pool.Cap > 0 && c.Mean > 0 {
				target := 0.10
				if t := float64(c.Upstream.WaitChance); t > 0 {
					target = t
				}
				emit(c.place(), c02{c.Rate, c.Mean, target, w.Service.Min, c.Pool.Cap})
			}
		}
	})
}
