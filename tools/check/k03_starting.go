package check

// k03 is whether a pod is killed before it has started.
type k03 struct {
	Delay      float64
	Period     float64 `json:"per"`
	Timeout    float64 `json:"to"`
	Start      float64
	Failures   int  `json:"ft"`
	HasStartup bool `json:"sp"`
}

func (n k03) verdict() Verdict {
	killed := n.Delay + float64(n.Failures-1)*n.Period + n.Timeout
	return holds(n.HasStartup || killed >= n.Start, say("killed after %g s, start needs %g s", killed, n.Start),
		say("a startupProbe with failureThreshold %d at periodSeconds %g", ceilTo(n.Start/max(n.Period, 1))+1, max(n.Period, 1)))
}

func ruleK03() Rule {
	return rule(Rule{
		ID: "K03", Title: "liveness kills a starting pod", Severity: Error,
		Breaks: "no startupProbe, and initialDelay + (failureThreshold - 1) x period + timeout < the time to start",
		Source: "the kubelet's probes", Needs: "a livenessProbe and start.time",
	}, func(w *World, emit func(Place, k03)) {
		s := w.Service
		if l := s.Probes.Liveness; l != nil && s.Start > 0 {
			emit(Place{Subject: s.Name, Ref: l.Ref}, k03{l.Delay, l.Period, l.Timeout, s.Start, l.Failures, s.Probes.Startup != nil})
		}
	})
}
