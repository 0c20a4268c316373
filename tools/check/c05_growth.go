package check

// c05 is whether the limit carries the headroom that is asked for.
type c05 struct {
	Rate     float64
	Latency  float64 `json:"lat"`
	Headroom float64 `json:"growth"`
	Limit    int
}

func (n c05) verdict() Verdict {
	load := n.Rate * n.Latency
	limit := float64(n.Limit)
	levers := say("max growth %.4gx, or latency <= %.4g s, or refuse %s", limit/load, limit/(n.Headroom*n.Rate), share(max(0, 1-limit/(n.Headroom*load))))
	return holds(n.Headroom*load <= limit,
		say("%.4g needed vs %d: %s", n.Headroom*load, n.Limit, levers),
		say("limit >= %d, or mean latency <= %s s, or a peak of at most %s/s, or refuse >= %s%% with 429",
			ceilTo(n.Headroom*load), atMost(limit/(n.Headroom*n.Rate)), atMost(limit/(n.Headroom*n.Latency)), atLeast(100*max(0, 1-limit/(n.Headroom*load))))).scaled(limit, n.Headroom*load, "in flight")
}

func ruleC05() Rule {
	return rule(Rule{
		ID: "C05", Title: "the headroom can not be carried at the limit", Severity: Error,
		Breaks: "headroom x rate x latency > limit",
		Source: "Little's law", Needs: "a rate, a latency and a limit",
	}, func(w *World, emit func(Place, c05)) {
		for _, c := range w.pools() {
			if c.Upstream.Limit > 0 && c.Mean > 0 {
				emit(c.place(), c05{c.Rate, c.Mean, c.Pool.Headroom, c.Upstream.Limit * c.Pool.Streams})
			}
		}
	})
}
