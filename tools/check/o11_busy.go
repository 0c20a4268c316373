package check

// o11 is whether a busy host looks like a broken one.
type o11 struct {
	Detector bool `json:"od"`
	Code     code
}

func (n o11) verdict() Verdict {
	return holds(!n.Detector || !isServerError(answer(n.Code)), say("busy=%s", n.Code), "429 (gRPC RESOURCE_EXHAUSTED): it resets the counters of the detector")
}

func ruleO11() Rule {
	return rule(Rule{
		ID: "O11", Title: "busy looks like broken", Severity: Error,
		Breaks: "outlier detection is on and a busy host answers with a code that it counts",
		Source: "Envoy maps gRPC's codes: RESOURCE_EXHAUSTED to 429, UNAVAILABLE to 503", Needs: "outlier detection and the busy answer",
	}, func(w *World, emit func(Place, o11)) {
		for _, c := range w.detected() {
			if d := c.Policy.Detector; c.Busy != "" {
				emit(Place{Subject: c.Name, Ref: d.Ref}, o11{d.trips(c.Busy) > 0, code(c.Busy)})
			}
		}
	})
}
