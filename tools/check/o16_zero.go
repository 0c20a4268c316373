package check

// o16 is whether 0 means what it seems to.
type o16 struct {
	Percent int `json:"m"`
}

func (n o16) verdict() Verdict {
	effective := n.Percent
	if n.Percent == 0 {
		effective = 10
	}
	return holds(n.Percent != 0, say("maxEjectionPercent %d takes effect as %d", n.Percent, effective), say("maxEjectionPercent %d, which is what takes effect; consecutive5xxErrors 0 and no gateway errors turn it off, or no block at all", effective))
}

func ruleO16() Rule {
	return rule(Rule{
		ID: "O16", Title: "zero is not off", Severity: Warning,
		Breaks: "maxEjectionPercent is written as 0",
		Source: "Istio and Envoy Gateway take 0 for unset, which is 10", Needs: "maxEjectionPercent",
	}, func(w *World, emit func(Place, o16)) {
		for _, c := range w.detected() {
			if d := c.Policy.Detector; d.Stated != nil {
				emit(Place{Subject: c.Name, Ref: d.Ref}, o16{*d.Stated})
			}
		}
	})
}
