package check

// o02 is whether ejections lead into panic beside hosts that are out for another
// reason.
type o02 struct {
	Hosts     int     `json:"n"`
	Percent   int     `json:"m"`
	Threshold int     `json:"thr"`
	Unready   int     `json:"u"`
	By        Ejector `json:"ver"`
}

func (n o02) verdict() Verdict {
	out := EffectiveMaxEjected(n.Hosts, n.Percent, n.By)
	healthy := max(0, n.Hosts-out-n.Unready)
	return holds(!Panics(n.Hosts, healthy, n.Threshold),
		say("%d ejected + %d unready: healthy %d/%d = %s", out, n.Unready, healthy, n.Hosts, share(float64(healthy)/float64(n.Hosts))),
		largestPercent(n.Hosts, n.By, func(out int) bool { return !Panics(n.Hosts, n.Hosts-out-n.Unready, n.Threshold) })).over(overPanic(healthy, n.Hosts, n.Threshold))
}

func ruleO02() Rule {
	return rule(Rule{
		ID: "O02", Title: "ejections and unready hosts cross the panic threshold", Severity: Error,
		Breaks: "with the cap used up and the unready hosts counted too, the healthy share is below the panic threshold",
		Source: "Envoy counts every unhealthy host of the set, whatever the reason", Needs: "outlier detection, the number of hosts, and unready ones",
	}, func(w *World, emit func(Place, o02)) {
		if w.Mesh.Unready == 0 {
			return
		}
		w.eachDetector(func(p Place, c Call, hosts int, e Era) {
			if c.Inbound {
				emit(p, o02{hosts, c.Policy.Detector.Max, w.threshold(c.Policy, e), w.Mesh.Unready, e.Ejector})
			}
		})
	})
}
