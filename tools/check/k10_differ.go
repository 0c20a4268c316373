package check

import "strings"

// k10 is whether a contract speaks of what runs.
type k10 struct {
	// Stated are the least and the most replicas of the contract, Runs those of the
	// manifests.
	Stated, Runs []int
}

func (n k10) verdict() Verdict {
	s, r := n.Stated, n.Runs
	same := s[0] == r[0] && s[len(s)-1] == r[len(r)-1]
	return holds(same, say("contract %s replicas, manifests %s: the check goes by the manifests, and the program by the contract", span(s), span(r)),
		say("replicas: {min: %d, max: %d} in the contract; or what it says in the manifests", r[0], r[len(r)-1]))
}

func span(n []int) string {
	if len(n) == 1 || n[0] == n[1] {
		return say("%d", n[0])
	}
	return strings.Join([]string{say("%d", n[0]), say("%d", n[1])}, " to ")
}

func ruleK10() Rule {
	return rule(Rule{
		ID: "K10", Title: "the contract and what runs differ", Severity: Warning,
		Breaks: "the least or the most replicas of the contract are not those of the workload or its autoscaler",
		Source: "places are derived from the contract's replicas, and a limit is shared among them", Needs: "a workload with a number of replicas, or an autoscaler",
	}, func(w *World, emit func(Place, k10)) {
		if s, c := w.Service, w.Contract.Replicas; s.Known && s.runs != nil {
			n := k10{leastAndMost(c.Min, c.Max), s.runs}
			if s.AutoMax == 0 { // what may scale it up may stand elsewhere
				n = k10{[]int{c.Min}, []int{s.runs[0]}}
			}
			emit(Place{Subject: s.Name, Ref: s.Ref}, n)
		}
	})
}
