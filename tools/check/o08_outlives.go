package check

// o08 is whether the cure lasts longer than the disease.
type o08 struct {
	Base     float64
	Fault    float64
	Interval float64 `json:"iv"`
}

func (n o08) verdict() Verdict {
	if n.Interval == 0 {
		n.Interval = 10
	}
	return holds(n.Base <= 3*n.Fault, say("out %g-%g s for a %g s fault (%.4gx)", n.Base, n.Base+n.Interval, n.Fault, n.Base/n.Fault),
		say("baseEjectionTime %g s or less", 3*n.Fault)).over(n.Base / (3 * n.Fault))
}

func ruleO08() Rule {
	return rule(Rule{
		ID: "O08", Title: "the ejection outlives the fault", Severity: Warning,
		Breaks: "baseEjectionTime > 3 x the fault it must bridge",
		Source: "an ejected host comes back only at a sweep after its time", Needs: "outlier detection and mesh.fault",
	}, func(w *World, emit func(Place, o08)) {
		if w.Mesh.Fault == 0 {
			return
		}
		for _, c := range w.detected() {
			emit(Place{Subject: c.Name, Ref: c.Policy.Detector.Ref}, o08{c.Policy.Detector.Base, w.Mesh.Fault, c.Policy.Detector.Interval})
		}
	})
}
