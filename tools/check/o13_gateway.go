package check

// o13 is whether the counter of gateway errors can act.
type o13 struct {
	Gw, X int
}

func (n o13) verdict() Verdict {
	return holds(n.X == 0 || n.Gw < n.X, say("gateway %d, 5xx %d", n.Gw, n.X), say("consecutiveGatewayErrors below %d, or consecutive5xxErrors 0", n.X))
}

func ruleO13() Rule {
	return rule(Rule{
		ID: "O13", Title: "the gateway counter has no effect", Severity: Info,
		Breaks: "consecutiveGatewayErrors >= consecutive5xxErrors > 0",
		Source: "every gateway error is a 5xx too", Needs: "consecutiveGatewayErrors",
	}, func(w *World, emit func(Place, o13)) {
		for _, c := range w.detected() {
			if d := c.Policy.Detector; d.Gateway > 0 {
				emit(Place{Subject: c.Name, Ref: d.Ref}, o13{d.Gateway, d.Consecutive5xx})
			}
		}
	})
}
