package check

import (
	"math"

	"github.com/offtake-go/offtake/capacity"
)

// c01 is whether a pool carries the peak at all.
type c01 struct {
	Rate      float64
	Latency   float64 `json:"lat"`
	Pods, Cap int
}

func (n c01) verdict() Verdict {
	load := capacity.Little(n.Rate, n.Latency)
	all := n.Cap * n.Pods
	least := int(math.Ceil(load / float64(n.Pods) * (1 - 1e-12)))
	return holds(float64(all) >= load*(1-1e-12),
		say("%.6g in flight (%g/s x %.6g s, %.4g per replica) vs cap %d x %d = %d (carries %.4g/s: %s cannot be carried)",
			load, n.Rate, n.Latency, load/float64(n.Pods), n.Cap, n.Pods, all, capacity.MaxRate(all, n.Latency), share(capacity.Loss(all, load))),
		say("raise the cap to %d or more, plus headroom, or bring the mean latency to %s s", least, atMost(capacity.CriticalLatency(all, n.Rate)))).scaled(float64(all), load, "in flight")
}

func ruleC01() Rule {
	return rule(Rule{
		ID: "C01", Title: "pool below Little's floor", Severity: Error,
		Breaks: "cap x serving replicas < peak rate x mean latency",
		Source: "Little's law", Needs: "a rate, a latency and a pool",
	}, func(w *World, emit func(Place, c01)) {
		for _, c := range w.pools() {
			if c.Pool.Cap > 0 && c.Mean > 0 {
				emit(c.place(), c01{c.Rate, c.Mean, w.Service.Min, c.Pool.Cap})
			}
		}
	})
}
