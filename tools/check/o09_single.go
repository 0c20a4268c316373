package check

// o09 is whether one error is enough.
type o09 struct {
	Errors int `json:"k"`
}

func (n o09) verdict() Verdict {
	return holds(n.Errors > 1, say("k=%d", n.Errors), "5 or more for 5xx, 3 or more for gateway errors")
}

func ruleO09() Rule {
	return rule(Rule{
		ID: "O09", Title: "a single error ejects", Severity: Error,
		Breaks: "a consecutive threshold is 1",
		Source: "one slow answer is no broken host", Needs: "outlier detection",
	}, func(w *World, emit func(Place, o09)) {
		for _, c := range w.detected() {
			d := c.Policy.Detector
			k := least(d.Consecutive5xx, d.Gateway)
			if k > 0 {
				emit(Place{Subject: c.Name, Ref: d.Ref}, o09{k})
			}
		}
	})
}
