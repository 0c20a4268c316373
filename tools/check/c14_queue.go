package check

import "math"

// c14 is whether a call at the end of the queue can still be answered.
type c14 struct {
	Q                  *int
	Lat, Timeout, Rate float64
	Cap                int
}

func (n c14) verdict() Verdict {
	drained := float64(n.Cap) / n.Lat
	longest := int(max(0, (n.Timeout-n.Lat)*drained))
	remedy := say("a queue of at most %d, and 429 beyond it", longest)
	if n.Q == nil {
		if n.Rate <= drained {
			return holds(false, say("unbounded: %.4g/s offered of %.4g/s; a queue begins when latency passes %.4g s and nothing ends it", n.Rate, drained, float64(n.Cap)/n.Rate), remedy)
		}
		after := drained * (n.Timeout - n.Lat) / (n.Rate - drained)
		return holds(false, say("unbounded: at %.4g/s offered and %.4g/s drained the wait passes the deadline after %.4g s, then every slot works on requests about to time out",
			n.Rate, drained, max(0, after)), remedy)
	}
	wait := float64(*n.Q) / drained
	return holds(wait <= n.Timeout-n.Lat+1e-12, say("full queue waits %.4g s of %.4g s", wait, n.Timeout), remedy)
}

func ruleC14() Rule {
	return rule(Rule{
		ID: "C14", Title: "the queue is longer than the deadline", Severity: Error,
		Breaks: "queue x latency / cap > deadline - latency, or the queue has no bound",
		Source: "an overloaded first-come queue serves only calls that are about to give up", Needs: "a queue, a latency and a deadline",
	}, func(w *World, emit func(Place, c14)) {
		for _, c := range w.pools() {
			if c.Mean == 0 || c.Pool.Cap == 0 {
				continue
			}
			n := c14{Lat: c.Mean, Timeout: c.Deadline, Rate: c.Rate / float64(w.Service.Min), Cap: c.Pool.Cap}
			if c.Pool.Queue >= 0 {
				n.Q = &c.Pool.Queue
			}
			if c.Unbounded {
				n.Timeout = math.Inf(1)
			}
			emit(c.place(), n)
		}
		if s := w.Service; s.Door != nil && s.Latency > 0 {
			queue := max(s.Door.Queue, 0)
			emit(Place{Subject: "door", Ref: s.DoorRef}, c14{Q: &queue, Lat: s.Latency, Timeout: s.Door.Deadline.Seconds(), Cap: s.Door.InFlight})
		}
	})
}
