package check

import "math"

// c14 is whether a call at the end of the queue can still be answered.
type c14 struct {
	Queue   *int    `json:"q"`
	Latency float64 `json:"lat"`
	Timeout float64
	Rate    float64
	Cap     int
}

func (n c14) verdict() Verdict {
	drained := float64(n.Cap) / n.Latency
	longest := int(max(0, (n.Timeout-n.Latency)*drained))
	remedy := say("a queue of at most %d, and 429 beyond it", longest)
	if n.Queue == nil {
		if n.Rate <= drained {
			return holds(false, say("unbounded: %.4g/s offered of %.4g/s; a queue begins when latency passes %.4g s and nothing ends it", n.Rate, drained, float64(n.Cap)/n.Rate), remedy)
		}
		after := drained * (n.Timeout - n.Latency) / (n.Rate - drained)
		return holds(false, say("unbounded: at %.4g/s offered and %.4g/s drained the wait passes the deadline after %.4g s, then every place works on requests about to time out",
			n.Rate, drained, max(0, after)), remedy)
	}
	wait := float64(*n.Queue) / drained
	return holds(wait <= n.Timeout-n.Latency+1e-12, say("full queue waits %.4g s of %.4g s", wait, n.Timeout), remedy)
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
			n := c14{Latency: c.Mean, Timeout: c.Deadline, Rate: c.Rate / float64(w.Service.Min), Cap: c.Pool.Cap}
			if c.Pool.Queue >= 0 {
				n.Queue = &c.Pool.Queue
			}
			if c.Unbounded {
				n.Timeout = math.Inf(1)
			}
			emit(c.place(), n)
		}
		if s := w.Service; s.Door != nil && s.Latency > 0 {
			queue := max(s.Door.Queue, 0)
			emit(Place{Subject: "door", Ref: s.DoorRef}, c14{Queue: &queue, Latency: s.Latency, Timeout: s.Door.Deadline.Seconds(), Cap: s.Door.InFlight})
		}
	})
}
