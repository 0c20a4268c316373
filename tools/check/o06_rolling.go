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

	// MinReady is the part of PerBatch that minReadySeconds makes.
	MinReady int
}

func (n o06) verdict() Verdict {
	least, most := n.during(n.Base), n.most()
	return holds(!Panics(n.Hosts, n.Hosts-most, n.Threshold),
		say("%d-%d of %d ejected at once (%s), healthy down to %s vs %d%%", least, most, n.Hosts, share(float64(most)/float64(n.Hosts)), share(float64(n.Hosts-most)/float64(n.Hosts)), n.Threshold),
		n.remedy()).over(overPanic(n.Hosts-most, n.Hosts, n.Threshold))
}

// remedy names a number only if it would do by itself.
func (n o06) remedy() string {
	s := "a readiness gate"
	slow := n
	slow.PerBatch = n.Base + n.Interval
	if !Panics(n.Hosts, n.Hosts-slow.most(), n.Threshold) {
		s += say(", or minReadySeconds %d, so that ejections do not overlap", n.MinReady+ceilTo(slow.PerBatch-n.PerBatch))
	}
	return s + ", or " + largestPercent(n.Hosts, n.By, func(out int) bool { return !Panics(n.Hosts, n.Hosts-out, n.Threshold) })
}

// most is how many hosts are out at once.
func (n o06) most() int { return n.during(n.Base + n.Interval) }

// during is how many batches, of which none is back, are ejected within a time.
func (n o06) during(seconds float64) int {
	if !n.Counts || n.PerBatch <= 0 {
		return 0
	}
	return min(EffectiveMaxEjected(n.Hosts, n.Percent, n.By), n.Batch*int(math.Ceil(seconds/n.PerBatch)))
}

func ruleO06() Rule {
	return rule(Rule{
		ID: "O06", Title: "a rolling restart ejects past the panic threshold", Severity: Error,
		Breaks: "batch x ceil((base + interval) / time per batch) hosts out leave fewer healthy than the panic threshold, when answers while warming count as errors",
		Source: "ejections of successive batches overlap while base ejection time lasts", Needs: "outlier detection, the rollout, and the time to start and warm",
	}, func(w *World, emit func(Place, o06)) {
		s := w.Service
		perBatch := s.Start + s.Warm + s.MinReady
		if perBatch == 0 {
			return
		}
		w.eachDetector(func(p Place, c Call, hosts int, e Era) {
			batch := s.batch(hosts)
			if d := c.Policy.Detector; c.Inbound && batch > 0 {
				counts := !s.Gated && s.Warm > 0 && isServerError(s.Answers) && d.trips(s.Answers) > 0
				emit(p, o06{hosts, d.Max, w.threshold(c.Policy, e), batch, perBatch, d.Base, d.Interval, counts, e.Ejector, int(s.MinReady)})
			}
		})
	})
}
