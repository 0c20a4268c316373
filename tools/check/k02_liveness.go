package check

import "math"

// k02 is whether a probe waits behind requests, or is refused with them.
type k02 struct {
	Shared  bool
	Queue   int     `json:"q"`
	Places  int     `json:"w"`
	Latency float64 `json:"lat"`
	Timeout float64 `json:"to"`
}

func (n k02) verdict() Verdict {
	wait := float64(n.Queue) * n.Latency / float64(n.Places)
	safe := int(math.Ceil(n.Timeout*float64(n.Places)/n.Latency)) - 1
	return holds(!n.Shared, say("full queue waits %.4g s, probe timeout %g s (largest queue in which it is in time %d): what comes to a full queue is refused, the probe too", wait, n.Timeout, safe),
		"answer probes outside the door: no length of the queue would do")
}

func ruleK02() Rule {
	return rule(Rule{
		ID: "K02", Title: "the liveness probe waits behind requests", Severity: Error,
		Breaks: "probes share the door, which refuses them when its queue is full",
		Source: "the kubelet restarts what does not answer well in time, and takes 429 and 503 for failures", Needs: "the door with its latency, and probes: shared",
	}, func(w *World, emit func(Place, k02)) {
		s := w.Service
		if s.Door == nil || s.Latency == 0 || s.Known && s.Probes.Liveness == nil {
			return // nothing restarts a pod that has no such probe
		}
		timeout, ref := 1.0, s.DoorRef
		if l := s.Probes.Liveness; l != nil {
			timeout, ref = l.Timeout, l.Ref
		}
		emit(Place{Subject: s.Name, Ref: ref}, k02{s.Shared, max(s.Door.Queue, 0), s.Door.InFlight, s.Latency, timeout})
	})
}
