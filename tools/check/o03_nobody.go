package check

import "github.com/offtake-go/offtake/capacity/contract"

// o03 is whether anyone is left.
type o03 struct {
	Hosts     int     `json:"n"`
	Percent   int     `json:"m"`
	Threshold int     `json:"thr"`
	By        Ejector `json:"ver"`

	// Plane says how a threshold is called; "" is istio.
	Plane contract.ControlPlane
}

func (n o03) verdict() Verdict {
	out := EffectiveMaxEjected(n.Hosts, n.Percent, n.By)
	return holds(n.Threshold > 0 || out < n.Hosts, say("at %d%% %d of %d can be ejected, panic %d", n.Percent, out, n.Hosts, n.Threshold), say("maxEjectionPercent 50 or less, or %s above 0: without survivors every answer is 503 UH", n.threshold()))
}

func (n o03) threshold() string {
	switch n.Plane {
	case "envoy":
		return "healthy_panic_threshold"
	case "envoy-gateway":
		return "panicThreshold"
	}
	return "minHealthPercent"
}

func ruleO03() Rule {
	return rule(Rule{
		ID: "O03", Title: "every host can be ejected and panic is off", Severity: Error,
		Breaks: "the panic threshold is 0 and the cap allows all hosts out",
		Source: "Envoy answers 503 UH where no host is left", Needs: "outlier detection and the number of hosts",
	}, func(w *World, emit func(Place, o03)) {
		w.eachDetector(func(p Place, c Call, hosts int, e Era) {
			emit(p, o03{hosts, c.Policy.Detector.Max, w.threshold(c.Policy, e), e.Ejector, c.Policy.Plane})
		})
	})
}
