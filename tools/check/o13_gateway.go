package check

// o13 is whether the counter of gateway errors can act.
type o13 struct {
	Gateway int `json:"gw"`
	Any     int `json:"x"`
}

func (n o13) verdict() Verdict {
	return holds(n.Any == 0 || n.Gateway < n.Any, say("gateway %d, 5xx %d", n.Gateway, n.Any), n.remedy())
}

func (n o13) remedy() string {
	if n.Any <= 2 { // below it a single error ejects
		return "consecutive5xxErrors 0, so that gateway errors alone count"
	}
	return say("consecutiveGatewayErrors %d or less, or consecutive5xxErrors 0", n.Any-1)
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
