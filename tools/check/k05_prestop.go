package check

// k05 is whether the balancer looks away first.
type k05 struct {
	PreStop     float64 `json:"pre"`
	Propagation float64 `json:"prop"`
}

func (n k05) verdict() Verdict {
	return holds(n.PreStop >= n.Propagation, say("preStop %g s vs propagation %g s: SIGTERM races with proxies that still route here", n.PreStop, n.Propagation), say("a preStop sleep of %d s", ceilTo(n.Propagation)))
}

func ruleK05() Rule {
	return rule(Rule{
		ID: "K05", Title: "no time for the endpoint's removal to spread", Severity: Warning,
		Breaks: "preStop < the time until all proxies know",
		Source: "endpoints are removed in parallel with preStop", Needs: "a workload's manifest whose preStop, if it has one, sleeps",
	}, func(w *World, emit func(Place, k05)) {
		if s := w.Service; s.Known && !s.Drains {
			emit(Place{Subject: s.Name, Ref: s.Ref}, k05{s.PreStop, w.Mesh.Propagation})
		}
	})
}
