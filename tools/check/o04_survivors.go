package check

import "github.com/offtake-go/offtake/capacity"

// o04 is whether those who are left can carry the load.
type o04 struct {
	Hosts   int `json:"n"`
	Percent int `json:"m"`
	Util    float64
	By      Ejector `json:"ver"`
}

func (n o04) verdict() Verdict {
	out := EffectiveMaxEjected(n.Hosts, n.Percent, n.By)
	after := n.Util * capacity.LoadAfterEjection(n.Hosts, out)
	evidence := say("util %.4g x %d/%d = %.4g", n.Util, n.Hosts, n.Hosts-out, after)
	if out == n.Hosts {
		evidence = say("util %.4g, and all %d can be out: nobody is left to carry it", n.Util, n.Hosts)
	}
	return holds(after <= 1, evidence, largestPercent(n.Hosts, n.By, func(out int) bool { return n.Util*capacity.LoadAfterEjection(n.Hosts, out) <= 1 })+
		": reserve what you allow to eject").over(after)
}

func ruleO04() Rule {
	return rule(Rule{
		ID: "O04", Title: "ejection overloads the survivors", Severity: Error,
		Breaks: "utilization x hosts / (hosts - ejected) > 1",
		Source: "the load stays when hosts go", Needs: "outlier detection, and the door with its latency and rates",
	}, func(w *World, emit func(Place, o04)) {
		if w.Service.Util == 0 {
			return
		}
		w.eachDetector(func(p Place, c Call, hosts int, e Era) {
			nobody := o03{hosts, c.Policy.Detector.Max, w.threshold(c.Policy, e), e.Ejector, c.Policy.Plane}
			if c.Inbound && nobody.verdict().Holds { // O03 says it otherwise
				emit(p, o04{hosts, c.Policy.Detector.Max, w.Service.Util, e.Ejector})
			}
		})
	})
}
