package check

// o15 is how much one ejection takes away.
type o15 struct {
	Hosts int `json:"n"`
}

func (n o15) verdict() Verdict {
	return holds(n.Hosts >= 5, say("N=%d: one ejection removes %s", n.Hosts, share(1/float64(max(n.Hosts, 1)))), "at least 5 hosts, or no outlier detection: active health checks or readiness instead")
}

func ruleO15() Rule {
	return rule(Rule{
		ID: "O15", Title: "too few hosts for outlier detection", Severity: Warning,
		Breaks: "outlier detection is on with fewer than 5 hosts",
		Source: "Envoy's statistical detectors want 5 hosts", Needs: "outlier detection and the number of hosts",
	}, func(w *World, emit func(Place, o15)) {
		for _, c := range w.detected() {
			if len(c.Hosts) > 0 {
				emit(Place{Subject: c.Name, Ref: c.Policy.Detector.Ref}, o15{c.Hosts[0]})
			}
		}
	})
}
