package check

// k09 is whether the queue holds what comes while warming.
type k09 struct {
	Rate   float64 `json:"r"`
	Warm   float64
	Queue  int `json:"q"`
	Places int `json:"w"`
}

func (n k09) verdict() Verdict {
	come := n.Rate * n.Warm
	return holds(come <= float64(n.Queue+n.Places), say("%.4g arrive while warming, room for %d", come, n.Queue+n.Places), say("a queue of %d, or a readiness gate", max(0, ceilTo(come)-n.Places)))
}

func ruleK09() Rule {
	return rule(Rule{
		ID: "K09", Title: "the queue is too small for warming", Severity: Warning,
		Breaks: "requests queue while warming, and more come than queue and places hold",
		Source: "rate x time", Needs: "start.warm, start.answers: queue without a gate, the door and rates",
	}, func(w *World, emit func(Place, k09)) {
		s := w.Service
		if s.Door == nil || s.Warm == 0 || s.Gated || s.Answers != "queue" {
			return
		}
		rate := 0.0
		for _, c := range w.Calls {
			if c.Inbound {
				rate += c.Rate
			}
		}
		if rate > 0 {
			emit(Place{Subject: s.Name, Ref: s.DoorRef}, k09{rate / float64(s.Min), s.Warm, max(s.Door.Queue, 0), s.Door.InFlight})
		}
	})
}
