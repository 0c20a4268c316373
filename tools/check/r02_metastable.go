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
	// A budget of b is a share of all that is in flight, retries included: attempts
	// per call stay below 1/(1-b).
	remedy := say("at most %s attempts per call: by fewer, or by a retry budget of %s%% of what is in flight; or %d places in all", atMost(most), atMost(100*(1-1/most)), ceilTo(load))
	switch {
	case most < 1:
		remedy = say("%d places: even single attempts do not fit", ceilTo(n.Rate*n.Latency))
	case 1-1/most < 0.01: // less than a retry budget can say
		remedy = say("no retries: single attempts just fit; or %d places in all", ceilTo(load))
	}
	return holds(load <= float64(n.Cap), say("%g x %.4g x %.6g = %.4g in flight vs %d", n.Rate, n.Attempts, n.Latency, load, n.Cap), remedy).scaled(float64(n.Cap), load, "in flight")
}

func ruleR02() Rule {
	return rule(Rule{
		ID: "R02", Title: "retries overload the pool", Severity: Error,
		Breaks: "rate x attempts per call x degraded latency > cap of all replicas",
		Source: "a metastable failure: the retries of one overload are the load of the next", Needs: "a rate, a latency, a pool and retries",
	}, func(w *World, emit func(Place, r02)) {
		outer := 1.0
		for _, c := range w.ways() {
			if c.Inbound {
				for _, e := range w.retryEras() {
					outer = max(outer, float64(c.Attempts)*w.budgeted(c, e))
				}
			}
		}
		for _, c := range w.pools() {
			own := float64(c.Attempts)
			if c.RetryShare > 0 {
				own = min(own, 1+c.RetryShare)
			}
			if a := outer * own; a > 1 && c.Pool.Cap > 0 && c.Degraded > 0 {
				emit(c.place(), r02{c.Rate, c.Degraded, a, c.Pool.Cap * w.Service.Min})
			}
		}
	})
}

// budgeted is how often proxies send one attempt when all calls fail: as often as
// the route says, or as the retry budget lets them.
func (w *World) budgeted(c Call, e Era) float64 {
	tries := float64(c.outageTries(e))
	if c.Policy == nil || c.Policy.Budget == nil {
		return tries
	}
	if b := w.budgetPercent(c.Policy.Budget) / 100; b < 1 {
		tries = min(tries, 1/(1-b))
	}
	return tries
}
