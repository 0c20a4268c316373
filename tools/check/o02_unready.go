package check

// o02 is whether ejections lead into panic beside hosts that are out for another
// reason.
type o02 struct {
	N, M, Thr, U int
	Ver          Ejector
}

func (n o02) verdict() Verdict {
	if n.Ver == "" {
		n.Ver = Envoy128
	}
	out := EffectiveMaxEjected(n.N, n.M, n.Ver)
	healthy := max(0, n.N-out-n.U)
	return holds(!Panics(n.N, healthy, n.Thr),
		say("%d ejected + %d unready: healthy %d/%d = %s", out, n.U, healthy, n.N, share(float64(healthy)/float64(n.N))),
		largestPercent(n.N, n.Ver, func(out int) bool { return !Panics(n.N, n.N-out-n.U, n.Thr) }))
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
