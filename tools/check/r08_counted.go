package check

// r08 is whether a number of attempts means the same on both sides.
type r08 struct {
	Total, Value int
	Plane        ControlPlane
}

func (n r08) verdict() Verdict {
	tries, right := n.Value+1, n.Total-1
	if n.Plane == "grpc" {
		tries, right = min(n.Value, 5), n.Total
	}
	return holds(tries == n.Total, say("config makes %d tries, plan says %d", tries, n.Total), say("write %d", right))
}

func ruleR08() Rule {
	return rule(Rule{
		ID: "R08", Title: "attempts are counted differently", Severity: Warning,
		Breaks: "a route has the number of attempts that the contract states, and makes another number of tries of it",
		Source: "Istio, Envoy Gateway and HTTPRoute count retries; gRPC counts attempts and stops at five", Needs: "attempts in the contract and in a route",
	}, func(w *World, emit func(Place, r08)) {
		for _, r := range w.routes() {
			u := r.call.Upstream
			if u == nil || u.Attempts == 0 || r.Stated < 0 {
				continue
			}
			// Another number may be another decision; the same number is the slip.
			if r.Stated == u.Attempts || r.Tries == u.Attempts {
				emit(r.place(), r08{u.Attempts, r.Stated, r.Plane})
			}
		}
	})
}
