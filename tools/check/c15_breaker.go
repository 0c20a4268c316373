package check

// c15 is which of two limits acts first.
type c15 struct {
	Breaker int
	Places  int     `json:"appcap"`
	Load    float64 `json:"l"`
}

func (n c15) verdict() Verdict {
	least := max(ceilTo(n.Load), n.Places)
	return holds(float64(n.Breaker) >= n.Load,
		say("breaker %d vs in flight %.4g, app cap %d: overflow -> 503 UO (this proxy never retries an overflow; a calling proxy sees a plain 503)", n.Breaker, n.Load, n.Places),
		say("a breaker of %d or more, so that the program's own limit acts first", least)).over(n.Load / float64(n.Breaker))
}

func ruleC15() Rule {
	return rule(Rule{
		ID: "C15", Title: "the proxy's breaker is below the program's concurrency", Severity: Error,
		Breaks: "the breaker of one proxy < the calls in flight of one replica",
		Source: "Envoy: circuit breakers are for each proxy and answer 503 UO", Needs: "a breaker, a rate and a latency",
	}, func(w *World, emit func(Place, c15)) {
		for _, c := range w.poolWays() {
			if c.Policy == nil || c.Mean == 0 {
				continue
			}
			breaker := c.Policy.MaxRequests
			if c.Upstream.Protocol == "" || c.Upstream.Protocol == "http1" {
				breaker = least(breaker, c.Policy.MaxConnections)
			}
			if breaker > 0 {
				emit(Place{Subject: c.Name, Ref: c.Policy.Ref}, c15{breaker, c.Pool.Cap, c.Rate * c.Mean / float64(w.Service.Min)})
			}
		}
	})
}

// least is the smaller of two limits of which 0 is none.
func least(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
