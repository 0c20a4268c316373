package check

// o05 is whether the detector can do anything.
type o05 struct {
	N, M int
	Ver  Ejector
	One  bool
}

func (n o05) verdict() Verdict {
	by := n.Ver
	if n.One {
		by = EnvoyOne
	}
	out := EffectiveMaxEjected(n.N, n.M, by)
	return holds(out > 0, say("Emax(%d, %d%%) = %d (%s)", n.N, n.M, out, by), say("maxEjectionPercent %d or more; Istio can not set always_eject_one_host, Envoy Gateway can", (99+n.N)/max(n.N, 1)))
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
