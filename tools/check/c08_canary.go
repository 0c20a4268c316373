package check

// c08 is whether a canary can show what the peak will do.
type c08 struct {
	CanaryRate    float64 `json:"rc"`
	CanaryLatency float64 `json:"lc"`
	CanaryPlaces  float64 `json:"cc"`
	Rate          float64 `json:"rp"`
	Latency       float64 `json:"lp"`
	Places        float64 `json:"cp"`
}

func (n c08) verdict() Verdict {
	canary, peak := n.CanaryRate*n.CanaryLatency/n.CanaryPlaces, n.Rate*n.Latency/n.Places
	return holds(canary >= 0.7*peak,
		say("canary loads the pool to %s, peak needs %s", share(canary), share(peak)),
		say("%d places for the canary, or a load test at the peak", max(1, int(n.CanaryRate*n.CanaryLatency/peak))))
}

func ruleC08() Rule {
	return rule(Rule{
		ID: "C08", Title: "the canary can not exercise the limit", Severity: Warning,
		Breaks: "the canary's utilization < 0.7 x that of the peak in the degraded case",
		Source: "a canary at 25/s and 0.3 s passed on a pool that the peak needed 2.4 times", Needs: "a canary, a rate and a pool",
	}, func(w *World, emit func(Place, c08)) {
		for _, c := range w.pools() {
			k := c.Upstream.Canary
			if k == nil || k.InFlight == 0 || c.Pool.Cap == 0 || c.Rate == 0 {
				continue
			}
			emit(c.place(), c08{float64(k.Rate), k.Latency.Seconds(), float64(k.InFlight), c.Rate, c.Degraded, float64(c.Pool.Cap * w.Service.Min)})
		}
	})
}
