package check

import "cmp"

// c15 is which of two limits acts first.
type c15 struct {
	Breaker int
	Places  int     `json:"appcap"`
	Load    float64 `json:"l"`

	// What is bounded; "" is requests.
	What string
}

func (n c15) verdict() Verdict {
	least := max(ceilTo(n.Load), n.Places)
	return holds(n.Breaker >= least,
		say(cmp.Or(n.What, "breaker")+" %d vs in flight %.4g, app cap %d: overflow -> 503 UO (this proxy never retries an overflow; a calling proxy sees a plain 503)", n.Breaker, n.Load, n.Places),
		say("%s of %d or more, so that the program's own limit acts first", n.remedy(), least)).over(float64(least) / float64(max(n.Breaker, 1)))
}

func (n c15) remedy() string {
	if n.What != "" {
		return n.What
	}
	return "a breaker"
}

func ruleC15() Rule {
	return rule(Rule{
		ID: "C15", Title: "the proxy's breaker is below the program's concurrency", Severity: Error,
		Breaks: "the breaker of one proxy < the calls in flight of one replica of the caller, or < the program's own cap; or the requests that may wait for a connection < the calls in flight",
		Source: "Envoy: circuit breakers are for each proxy and answer 503 UO", Needs: "a breaker, a rate and a latency",
	}, func(w *World, emit func(Place, c15)) {
		for _, c := range w.ways() {
			p := c.Policy
			if p == nil || c.Mean == 0 || c.Rate == 0 {
				continue
			}
			n := c15{Breaker: p.MaxRequests, Load: c.Rate * c.Mean / float64(max(c.Proxies, 1))}
			if c.Pool != nil {
				n.Places = c.Pool.Cap
			}
			if one := !c.GRPC && (c.Upstream == nil || !shares(*c.Upstream)); one { // a call takes a connection
				n.Breaker = least(n.Breaker, p.MaxConnections)
				// All that is in flight waits for a connection once, when those there were are gone.
				if pending := (c15{p.MaxPending, 0, n.Load, "pending requests"}); p.MaxPending > 0 {
					emit(Place{Subject: "pending to " + c.Name, Ref: p.Ref}, pending)
				}
			}
			if n.Breaker > 0 {
				emit(Place{Subject: c.Name, Ref: p.Ref}, n)
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
