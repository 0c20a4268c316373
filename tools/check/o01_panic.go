package check

// o01 is whether ejections alone lead into panic.
type o01 struct {
	Hosts     int     `json:"n"`
	Percent   int     `json:"m"`
	Threshold int     `json:"thr"`
	By        Ejector `json:"ver"`
}

func (n o01) verdict() Verdict {
	out := EffectiveMaxEjected(n.Hosts, n.Percent, n.By)
	lower := ""
	if share := 100 * (n.Hosts - out) / n.Hosts; share > 0 {
		lower = say(", or a threshold of %d%% or less", share)
	}
	return holds(!Panics(n.Hosts, n.Hosts-out, n.Threshold),
		say("at %d%% %d of %d can be ejected (%s), healthy %s vs panic < %d%%", n.Percent, out, n.Hosts, n.By, share(float64(n.Hosts-out)/float64(n.Hosts)), n.Threshold),
		largestPercent(n.Hosts, n.By, func(out int) bool { return !Panics(n.Hosts, n.Hosts-out, n.Threshold) })+lower).over(overPanic(n.Hosts-out, n.Hosts, n.Threshold))
}

// overPanic is the panic threshold over the share of hosts that are healthy.
func overPanic(healthy, hosts, threshold int) float64 {
	return float64(threshold) * float64(hosts) / (100 * float64(healthy))
}

// largestPercent says which maxEjectionPercent still passes.
func largestPercent(hosts int, by Ejector, ok func(out int) bool) string {
	for m := 100; m > 0; m-- {
		if ok(EffectiveMaxEjected(hosts, m, by)) {
			return say("maxEjectionPercent %d or less", m)
		}
	}
	return "no maxEjectionPercent would do"
}

func ruleO01() Rule {
	return rule(Rule{
		ID: "O01", Title: "the ejection cap can cross the panic threshold", Severity: Error,
		Breaks: "with as many hosts out as the cap allows, the healthy share is below the panic threshold",
		Source: "Envoy's outlier_detection_impl.cc and load_balancer_impl.cc", Needs: "outlier detection and the number of hosts",
	}, func(w *World, emit func(Place, o01)) {
		w.eachDetector(func(p Place, c Call, hosts int, e Era) {
			emit(p, o01{hosts, c.Policy.Detector.Max, w.threshold(c.Policy, e), e.Ejector})
		})
	})
}
