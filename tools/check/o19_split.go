package check

// o19 is whether the counter of local errors counts.
type o19 struct {
	Failures int `json:"n"`
	Split    bool
}

func (n o19) verdict() Verdict {
	return holds(n.Failures == 0 || n.Split, say("%d, split=%v", n.Failures, n.Split), "splitExternalLocalOriginErrors: true; istiod refuses the rule without it")
}

func ruleO19() Rule {
	return rule(Rule{
		ID: "O19", Title: "a counter of local errors without the split", Severity: Error,
		Breaks: "consecutiveLocalOriginFailures is set and splitExternalLocalOriginErrors is not",
		Source: "Envoy counts local errors apart only when told to", Needs: "consecutiveLocalOriginFailures",
	}, func(w *World, emit func(Place, o19)) {
		for _, c := range w.detected() {
			if d := c.Policy.Detector; d.LocalOrigin > 0 {
				emit(Place{Subject: c.Name, Ref: d.Ref}, o19{d.LocalOrigin, d.Split})
			}
		}
	})
}
