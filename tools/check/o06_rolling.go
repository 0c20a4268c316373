package check

import "math"

// o06 is how many hosts a rolling restart ejects at once.
type o06 struct {
	Hosts     int     `json:"n"`
	Percent   int     `json:"m"`
	Threshold int     `json:"thr"`
	Batch     int     `json:"b"`
	PerBatch  float64 `json:"tb"`
	Base      float64
	Interval  float64 `json:"iv"`
	Counts    bool
	By        Ejector `json:"ver"`
}

func (n o06) verdict() Verdict {
	if n.By == "" {
		n.By = Envoy128
	}
	least, most := 0, 0
	if n.Counts && n.PerBatch > 0 {
		limit := EffectiveMaxEjected(n.Hosts, n.Percent, n.By)
		least = min(limit, n.Batch*int(math.Ceil(n.Base/n.PerBatch)))
		most = min(limit, n.Batch*int(math.Ceil((n.Base+n.Interval)/n.PerBatch)))
	}
	return holds(!Panics(n.Hosts, n.Hosts-most, n.Threshold),
		say("%d-%d of %d ejected at once (%s), healthy down to %s vs %d%%", least, most, n.Hosts, share(float64(most)/float64(n.Hosts)), share(float64(n.Hosts-most)/float64(n.Hosts)), n.Threshold),
		say("a readiness gate, or %.4g s and more for each batch, or a lower maxEjectionPercent", n.Base+n.Interval)).over(overPanic(n.Hosts-most, n.Hosts, n.Threshold))
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
