package check

import (
	"maps"
	"slices"
)

// o14 is whether one zone gets more than it carries.
type o14 struct {
	Shares   []float64 `json:"share"`
	Carried  []float64 `json:"cap"`
	Rate     float64
	Locality *bool `json:"local"`
}

func (n o14) verdict() Verdict {
	worst, all := 0.0, 0.0
	for i, s := range n.Shares {
		worst = max(worst, s*n.Rate/n.Carried[i])
		all += n.Carried[i]
	}
	off := n.Locality != nil && !*n.Locality
	return holds(off || len(n.Shares) < 2 || worst <= 1,
		say("worst zone at %s of its capacity (fleet average %s): a busy pod is healthy, so nothing fails over until < 71.4%% of the zone is healthy", share(worst), share(n.Rate/all)),
		say("localityLbSetting.enabled=false, or %.4g times the pods in that zone", worst)).over(worst)
}

func ruleO14() Rule {
	return rule(Rule{
		ID: "O14", Title: "outlier detection switches zone-local routing on", Severity: Error,
		Breaks: "outlier detection is on, localityLbSetting is not off, and the callers of one zone send it more than it carries",
		Source: "Istio applies failover priorities only to clusters with outlier detection", Needs: "outlier detection, zones of callers, and the door with its latency",
	}, func(w *World, emit func(Place, o14)) {
		s := w.Service
		if s.Door == nil || s.Latency == 0 {
			return
		}
		for _, c := range w.detected() {
			if !c.Inbound || c.Rate == 0 || c.Policy.Plane != "istio" {
				continue
			}
			zones := w.zonesOf(c)
			if len(zones) < 2 {
				continue
			}
			local := c.Policy.Locality
			if local == nil {
				local = w.Mesh.Locality
			}
			n := o14{Rate: c.Rate, Locality: local}
			number := max(w.Mesh.Zones, len(zones))
			for _, name := range slices.Sorted(maps.Keys(zones)) {
				n.Shares = append(n.Shares, float64(zones[name]))
				n.Carried = append(n.Carried, float64(s.Min*s.Door.InFlight)/float64(number)/s.Latency)
			}
			emit(Place{Subject: c.Name, Ref: c.Policy.Detector.Ref}, n)
		}
	})
}
