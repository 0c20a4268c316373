package check

// c03 is whether all replicas together stay within the upstream's limit.
type c03 struct {
	Cap      int
	Replicas int
	Surge    int
	Draining int `json:"term"`
	Limit    int
}

func (n c03) verdict() Verdict {
	pods := n.Replicas + n.Surge + n.Draining
	return holds(n.Cap*pods <= n.Limit,
		say("%d x %d pods = %d vs limit %d", n.Cap, pods, n.Cap*pods, n.Limit),
		perReplica("a cap of %d or less, ", n.Limit, pods)+"a limiter that the replicas share, or fewer surge pods").scaled(float64(n.Limit), float64(n.Cap*pods), "connections")
}

// perReplica writes a replica's part of a limit; "" if that is not even one.
func perReplica(format string, limit, pods int) string {
	if each := limit / max(pods, 1); each > 0 {
		return say(format, each)
	}
	return ""
}

func ruleC03() Rule {
	return rule(Rule{
		ID: "C03", Title: "the fleet exceeds the upstream's limit", Severity: Error,
		Breaks: "cap x (replicas + surge + draining) > limit",
		Source: "pods that come and go hold connections too", Needs: "a limit and a pool",
	}, func(w *World, emit func(Place, c03)) {
		for _, c := range w.pools() {
			if c.Pool.Connections > 0 && c.Upstream.Limit > 0 {
				emit(c.place(), c03{c.Pool.Connections, w.Service.Max, w.Service.Extra, w.Service.Draining, c.Upstream.Limit})
			}
		}
	})
}
