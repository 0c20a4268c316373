package check

// o18 is whether minHealthPercent takes effect.
type o18 struct {
	Minor        int  `json:"istio_minor"`
	Outlier      bool `json:"outlier"`
	MinHealth    int  `json:"minHealthPercent"`
	Distribution bool `json:"trafficDistribution"`
}

func (n o18) verdict() Verdict {
	effective := EffectivePanic("istio", n.Minor, PanicPolicy{Outlier: n.Outlier, MinHealth: n.MinHealth, Distribution: n.Distribution})
	return holds(n.MinHealth == 0 || effective > 0, say("effective healthy_panic_threshold = %d", effective), "trafficDistribution or minHealthPercent, not both")
}

func ruleO18() Rule {
	return rule(Rule{
		ID: "O18", Title: "minHealthPercent is ignored", Severity: Warning,
		Breaks: "minHealthPercent > 0 and the effective panic threshold is 0",
		Source: "Istio since 1.25 forces 0 where the Service has a trafficDistribution", Needs: "minHealthPercent",
	}, func(w *World, emit func(Place, o18)) {
		for _, c := range w.detected() {
			if c.Policy.Plane != "istio" || c.Policy.MinHealth == 0 {
				continue
			}
			for _, e := range w.eras(c.Policy) {
				emit(Place{Subject: c.Name, Ref: c.Policy.Detector.Ref, Era: e.Name}, o18{e.Minor, true, c.Policy.MinHealth, c.Policy.Distribution})
			}
		}
	})
}
