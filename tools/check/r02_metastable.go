package check

// r02 is whether retries keep an overload going that they did not begin.
type r02 struct {
	Rate     float64
	Latency  float64 `json:"lat"`
	Attempts float64 `json:"a"`
	Cap      int
}

func (n r02) verdict() Verdict {
	load := n.Rate * n.Attempts * n.Latency
	most := float64(n.Cap) / (n.Rate * n.Latency)
	remedy := say("at most %.4g attempts per call: a retry budget of %s, or more places", most, share(max(0, most-1)))
	if most < 1 {
		remedy = say("%d places: even single attempts do not fit", ceilTo(n.Rate*n.Latency))
	}
	return holds(load <= float64(n.Cap), say("%g x %.4g x %g = %.4g in flight vs %d", n.Rate, n.Attempts, n.Latency, load, n.Cap), remedy).scaled(float64(n.Cap), load, "in flight")
}

func ruleR02() Rule {
	return rule(Rule{
		ID: "R02", Title: "retries overload the pool", Severity: Error,
		Breaks: "rate x attempts per call x degraded latency > cap of all replicas",
		Source: "a metastable failure: the retries of one overload are the load of the next", Needs: "a rate, a latency, a pool and retries",
	}, func(w *World, emit func(Place, r02)) {
		outer := 1
		for _, c := range w.Calls {
			if c.Inbound {
				outer = max(outer, c.Attempts*c.tries())
			}
		}
		for _, c := range w.pools() {
			own := float64(c.Attempts)
			if c.RetryShare > 0 {
				own = min(own, 1+c.RetryShare)
			}
			if a := float64(outer) * own; a > 1 && c.Pool.Cap > 0 && c.Degraded > 0 {
				emit(c.place(), r02{c.Rate, c.Degraded, a, c.Pool.Cap * w.Service.Min})
			}
		}
	})
}
