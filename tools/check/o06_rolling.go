package check

import "math"

// o06 is how many hosts a rolling restart ejects at once.
type o06 struct {
	N, M, Thr, B int
	Tb, Base, Iv float64
	Counts       bool
	Ver          Ejector
}

func (n o06) verdict() Verdict {
	if n.Ver == "" {
		n.Ver = Envoy128
	}
	least, most := 0, 0
	if n.Counts && n.Tb > 0 {
		limit := EffectiveMaxEjected(n.N, n.M, n.Ver)
		least = min(limit, n.B*int(math.Ceil(n.Base/n.Tb)))
		most = min(limit, n.B*int(math.Ceil((n.Base+n.Iv)/n.Tb)))
	}
	return holds(!Panics(n.N, n.N-most, n.Thr),
		say("%d-%d of %d ejected at once (%s), healthy down to %s vs %d%%", least, most, n.N, share(float64(most)/float64(n.N)), share(float64(n.N-most)/float64(n.N)), n.Thr),
		say("a readiness gate, or %.4g s and more for each batch, or a lower maxEjectionPercent", n.Base+n.Iv))
}

func ruleO06() Rule {
	return rule(Rule{
		ID: "O06", Title: "a rolling restart ejects past the panic threshold", Severity: Error,
		Breaks: "batch x ceil((base + interval) / time per batch) hosts out leave fewer healthy than the panic threshold, when answers while warming count as errors",
		Source: "ejections of successive batches overlap while base ejection time lasts", Needs: "outlier detection, the rollout, and the time to start and warm",
	}, func(w *World, emit func(Place, o06)) {
		s := w.Service
		perBatch := s.Start + s.Warm + s.MinReady
		if perBatch == 0 || s.Extra+s.Missing == 0 {
			return
		}
		w.eachDetector(func(p Place, c Call, hosts int, e Era) {
			if d := c.Policy.Detector; c.Inbound {
				counts := !s.Gated && s.Warm > 0 && isServerError(s.Answers)
				emit(p, o06{hosts, d.Max, w.threshold(c.Policy, e), s.Extra + s.Missing, perBatch, d.Base, d.Interval, counts, e.Ejector})
			}
		})
	})
}
