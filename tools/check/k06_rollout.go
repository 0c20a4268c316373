package check

import "github.com/offtake-go/offtake/capacity"

// k06 is whether those who stay carry the load of a rollout.
type k06 struct {
	Pods        int `json:"n"`
	Unavailable int `json:"unav"`
	Util        float64
}

func (n k06) verdict() Verdict {
	after := n.Util * capacity.LoadAfterEjection(n.Pods, n.Unavailable)
	evidence := say("%.4g x %d/%d = %.4g", n.Util, n.Pods, n.Pods-n.Unavailable, after)
	if n.Unavailable >= n.Pods {
		evidence = say("util %.4g, and all %d pods go at once: nobody is left to carry it", n.Util, n.Pods)
	}
	return holds(after <= 1, evidence, say("maxUnavailable %d or less", max(0, int(float64(n.Pods)*(1-n.Util)))))
}

func ruleK06() Rule {
	return rule(Rule{
		ID: "K06", Title: "a rollout leaves too few pods", Severity: Error,
		Breaks: "utilization x replicas / (replicas - unavailable) > 1",
		Source: "the load stays when pods go", Needs: "the door with its latency and rates",
	}, func(w *World, emit func(Place, k06)) {
		if s := w.Service; s.Util > 0 {
			emit(Place{Subject: s.Name, Ref: s.Ref}, k06{s.Min, s.Missing, s.Util})
		}
	})
}
