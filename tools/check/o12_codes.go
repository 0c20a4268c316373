package check

import "slices"

// o12 is whether 429 was made an error.
type o12 struct {
	Codes []int
}

func (n o12) verdict() Verdict {
	return holds(!slices.Contains(n.Codes, 429), say("codes %v", n.Codes), "take 429 out")
}

func ruleO12() Rule {
	return rule(Rule{
		ID: "O12", Title: "429 is configured as an error", Severity: Error,
		Breaks: "429 is among outlierDetectionHttpErrorCodes",
		Source: "the list replaces the test for 5xx", Needs: "a list of codes",
	}, func(w *World, emit func(Place, o12)) {
		for _, c := range w.detected() {
			if d := c.Policy.Detector; len(d.Codes) > 0 {
				emit(Place{Subject: c.Name, Ref: d.Ref}, o12{d.Codes})
			}
		}
	})
}
