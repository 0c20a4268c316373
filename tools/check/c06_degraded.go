package check

import "github.com/offtake-go/offtake/capacity"

// c06 is whether the pool survives the latency that was promised.
type c06 struct {
	Cap            int
	Rate, Degraded float64

	// Pods share the load, and Connected the limit, in places; 0 is unknown.
	Pods, Connected, Limit int
}

func (n c06) verdict() Verdict {
	critical := capacity.CriticalLatency(n.Cap, n.Rate)
	return holds(critical >= n.Degraded*(1-1e-12),
		say("pool saturates above a mean of %.4g s, must survive %.4g s", critical, n.Degraded),
		n.remedy(critical)).scaled(critical, n.Degraded, "s")
}

func (n c06) remedy(critical float64) string {
	pods := max(n.Pods, 1)
	each := ceilTo(n.Rate * n.Degraded / float64(pods))
	most := say("a promise of %s s at most", atMost(critical))
	if n.Limit > 0 && each*n.Connected > n.Limit {
		return say("%s: the %d places that each replica would need are more than the limit allows, which is %d", most, each, n.Limit/n.Connected)
	}
	return say("%d places in each replica, or %s", each, most)
}

func ruleC06() Rule {
	return rule(Rule{
		ID: "C06", Title: "the pool saturates below the degraded latency", Severity: Error,
		Breaks: "cap of all replicas / peak rate < degraded latency",
		Source: "Little's law, solved for the latency", Needs: "a rate, a degraded latency and a pool",
	}, func(w *World, emit func(Place, c06)) {
		for _, c := range w.pools() {
			if c.Pool.Cap > 0 && c.Upstream.Degraded > 0 && c.Rate > 0 {
				s := w.Service
				emit(c.place(), c06{c.Pool.Cap * s.Min, c.Rate, c.Degraded, s.Min, s.Max + s.Extra + s.Draining, c.Upstream.Limit * c.Pool.Streams})
			}
		}
	})
}
