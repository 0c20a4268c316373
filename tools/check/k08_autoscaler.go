package check

// k08 is whether the autoscaler can pass the upstream's limit.
type k08 struct {
	MaxReplicas int `json:"maxr"`
	Surge       int
	Cap         int
	Limit       int
}

func (n k08) verdict() Verdict {
	pods := n.MaxReplicas + n.Surge
	return holds(pods*n.Cap <= n.Limit, say("%d x %d = %d vs %d", pods, n.Cap, pods*n.Cap, n.Limit),
		perReplica("a cap of %d, or ", n.Limit, pods)+n.fewer()).scaled(float64(n.Limit), float64(pods*n.Cap), "connections")
}

func (n k08) fewer() string {
	if most := n.Limit/max(n.Cap, 1) - n.Surge; most > 0 {
		return say("maxReplicas %d", most)
	}
	return "a limiter that the replicas share"
}

func ruleK08() Rule {
	return rule(Rule{
		ID: "K08", Title: "the autoscaler can pass the upstream's limit", Severity: Error,
		Breaks: "(maxReplicas + surge) x cap > limit",
		Source: "the surge of a rollout is on top of maxReplicas", Needs: "an autoscaler, a limit and a pool",
	}, func(w *World, emit func(Place, k08)) {
		s := w.Service
		for _, c := range w.pools() {
			if s.AutoMax > 0 && c.Upstream.Limit > 0 && c.Pool.Connections > 0 {
				emit(Place{Subject: c.Name, Ref: s.AutoRef}, k08{s.AutoMax, s.Extra, c.Pool.Connections, c.Upstream.Limit})
			}
		}
	})
}
