package check

// o05 is whether the detector can do anything.
type o05 struct {
	Hosts     int     `json:"n"`
	Percent   int     `json:"m"`
	By        Ejector `json:"ver"`
	AlwaysOne bool    `json:"one"`
}

func (n o05) verdict() Verdict {
	by := n.By
	if n.AlwaysOne {
		by = EnvoyOne
	}
	out := EffectiveMaxEjected(n.Hosts, n.Percent, by)
	return holds(out > 0, say("Emax(%d, %d%%) = %d (%s)", n.Hosts, n.Percent, out, by), say("maxEjectionPercent %d or more; Istio can not set always_eject_one_host, Envoy Gateway can", (99+n.Hosts)/max(n.Hosts, 1))).over(100 / float64(n.Hosts*n.Percent))
}

func ruleO05() Rule {
	return rule(Rule{
		ID: "O05", Title: "outlier detection can never eject", Severity: Warning,
		Breaks: "the cap rounds down to no host at all",
		Source: "Envoy since 1.28 respects max_ejection_percent for the first host too", Needs: "outlier detection and the number of hosts",
	}, func(w *World, emit func(Place, o05)) {
		w.eachDetector(func(p Place, c Call, hosts int, e Era) {
			emit(p, o05{hosts, c.Policy.Detector.Max, e.Ejector, c.Policy.Detector.AlwaysOne})
		})
	})
}
