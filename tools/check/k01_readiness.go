package check

// k01 is whether traffic comes before the pool is ready.
type k01 struct {
	Warm  float64
	Gated bool `json:"gate"`
}

func (n k01) verdict() Verdict {
	return holds(n.Warm == 0 || n.Gated, say("%g s of traffic before the pool is ready", n.Warm), "a readiness probe that passes when pools are warm")
}

func ruleK01() Rule {
	return rule(Rule{
		ID: "K01", Title: "readiness does not cover warming", Severity: Error,
		Breaks: "pools take time to warm and readiness asks only whether the process lives",
		Source: "an endpoint is added when the readiness probe passes", Needs: "start.warm",
	}, func(w *World, emit func(Place, k01)) {
		if s := w.Service; s.Warm > 0 {
			ref := s.Ref
			if r := s.Probes.Readiness; r != nil {
				ref = r.Ref
			}
			emit(Place{Subject: s.Name, Ref: ref}, k01{s.Warm, s.Gated})
		}
	})
}
