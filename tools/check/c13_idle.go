package check

// c13 is which side closes an idle connection first.
type c13 struct {
	Client, Server float64
}

func (n c13) verdict() Verdict {
	return holds(n.Client < n.Server,
		say("client closes after %g s, server after %g s: reused connection may be half closed (reset, retried only with reset/reset-before-request)", n.Client, n.Server),
		say("close idle connections on the client after %s s", atMost(n.Server*0.8)))
}

func ruleC13() Rule {
	return rule(Rule{
		ID: "C13", Title: "the client keeps idle connections longer than the server", Severity: Warning,
		Breaks: "the client's idle timeout >= the server's",
		Source: "a request that meets a close on its way is reset", Needs: "serverIdle",
	}, func(w *World, emit func(Place, c13)) {
		for _, c := range w.pools() {
			if c.Upstream.ServerIdle > 0 {
				emit(c.place(), c13{c.Pool.IdleTimeout, c.Upstream.ServerIdle.Seconds()})
			}
		}
	})
}
