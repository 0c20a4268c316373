package check

import "github.com/offtake-go/offtake/capacity"

// c06 is whether the pool survives the latency that was promised.
type c06 struct {
	Cap            int
	Rate, Degraded float64
}

func (n c06) verdict() Verdict {
	critical := capacity.CriticalLatency(n.Cap, n.Rate)
	return holds(critical >= n.Degraded*(1-1e-12),
		say("pool saturates above a mean of %.4g s, must survive %.4g s", critical, n.Degraded),
		say("%d places in all replicas together", ceilTo(n.Rate*n.Degraded))).scaled(critical, n.Degraded, "s")
}

func ruleC06() Rule {
	return rule(Rule{
		ID: "C06", Title: "the pool saturates below the degraded latency", Severity: Error,
		Breaks: "cap of all replicas / peak rate < degraded latency",
		Source: "Little's law, solved for the latency", Needs: "a rate, a degraded latency and a pool",
	}, func(w *World, emit func(Place, c06)) {
		for _, c := range w.pools() {
			if c.Pool.Cap > 0 && c.Upstream.Degraded > 0 && c.Rate > 0 {
				emit(c.place(), c06{c.Pool.Cap * w.Service.Min, c.Rate, c.Degraded})
			}
		}
	})
}
