package check

import "math"

// k07 is whether a whole rollout falls between two sweeps.
type k07 struct {
	Pods     int     `json:"n"`
	Batch    int     `json:"b"`
	PerBatch float64 `json:"tb"`
	Interval float64 `json:"iv"`
}

func (n k07) verdict() Verdict {
	whole := math.Ceil(float64(n.Pods)/float64(n.Batch)) * n.PerBatch
	return holds(whole > n.Interval, say("%d pods replaced in %.4g s, detector interval %g s", n.Pods, whole, n.Interval), say("minReadySeconds %d or more, or a smaller batch", ceilTo(n.Interval)))
}

func ruleK07() Rule {
	return rule(Rule{
		ID: "K07", Title: "a whole rollout inside one detector interval", Severity: Warning,
		Breaks: "ceil(replicas / batch) x time per batch <= the detector's interval",
		Source: "hosts come back only at a sweep", Needs: "outlier detection, the rollout, and the time to start and warm",
	}, func(w *World, emit func(Place, k07)) {
		s := w.Service
		batch, each := s.batch(s.Max), s.Start+s.Warm+s.MinReady
		for _, c := range w.detected() {
			if c.Inbound && batch > 0 && each > 0 {
				emit(Place{Subject: c.Name, Ref: s.Ref}, k07{s.Max, batch, each, c.Policy.Detector.Interval})
				return // it is the same rollout for every caller
			}
		}
	})
}
