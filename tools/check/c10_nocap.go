package check

// c10 is whether a limit is held by a limit.
type c10 struct {
	Conns, Limit int

	// Pods share the limit; 0 is one.
	Pods int

	// Shared says that MaxConnsPerHost does not count, for HTTP/2.
	Shared bool
}

func (n c10) verdict() Verdict {
	if n.Shared {
		return holds(n.Conns > 0,
			say("HTTP/2, of which MaxConnsPerHost bounds only the dials, with upstream limit %d", n.Limit),
			"a client of this module, or a limit on calls before the client")
	}
	return holds(n.Conns > 0,
		say("MaxConnsPerHost=%d with upstream limit %d", n.Conns, n.Limit),
		"a client of this module"+perReplica(", or MaxConnsPerHost %d with a bound on what waits for a connection", n.Limit, n.Pods)+": an idle limit is no limit on connections")
}

func ruleC10() Rule {
	return rule(Rule{
		ID: "C10", Title: "an upstream's limit without a hard cap", Severity: Error,
		Breaks: "the upstream states a limit and the client has none on its connections",
		Source: "net/http: MaxConnsPerHost 0 is no limit, and MaxIdleConnsPerHost bounds only idle ones", Needs: "a limit and a client",
	}, func(w *World, emit func(Place, c10)) {
		for _, c := range w.pools() {
			if c.Upstream.Limit > 0 && (c.Pool.Foreign || c.Pool.Cap > 0) {
				emit(c.place(), c10{c.Pool.Connections, c.Upstream.Limit, w.Service.Max + w.Service.Extra + w.Service.Draining, c.Pool.Foreign && shares(*c.Upstream)})
			}
		}
	})
}
