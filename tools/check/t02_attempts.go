package check

// t02 is whether all attempts fit before the caller leaves.
type t02 struct {
	Attempts int     `json:"n"`
	Each     float64 `json:"per"`
	Pauses   float64 `json:"back"`
	Overhead float64 `json:"oh"`
	Outer    float64
}

func (n t02) verdict() Verdict {
	total := float64(n.Attempts)*n.Each + n.Pauses + n.Overhead
	return holds(total <= n.Outer+1e-9,
		say("%d x %.6g + backoff + overhead = %.4g s vs %g s", n.Attempts, n.Each, total, n.Outer),
		n.remedy()).scaled(n.Outer, total, "s")
}

// room is what the pauses and the way leave for all attempts.
func (n t02) room() float64 { return n.Outer - n.Pauses - n.Overhead }

func (n t02) remedy() string {
	room := n.room()
	if room <= 0 {
		return say("fewer than %d attempts: the pauses between them alone take %.4g s", n.Attempts, n.Pauses)
	}
	s := say("at most %s s for each attempt", atMost(room/float64(n.Attempts)))
	if fit := int(room / n.Each); fit > 0 && fit < n.Attempts {
		s += say(", or %d of them", fit)
	}
	return s
}

func ruleT02() Rule {
	return rule(Rule{
		ID: "T02", Title: "the attempts do not fit into the caller's deadline", Severity: Error,
		Breaks: "attempts x attempt timeout + longest pauses + overhead > the caller's deadline",
		Source: "the last attempt is cut off by the caller", Needs: "the callers' deadlines",
	}, func(w *World, emit func(Place, t02)) {
		for _, in := range w.Calls {
			if !in.Inbound || in.Deadline == 0 {
				continue
			}
			for _, c := range w.pools() {
				if !c.Unbounded && c.Attempt > 0 {
					emit(Place{Subject: c.Name + " inside " + in.Name, Ref: c.Ref}, attemptsWithin(c.Attempts, c.Attempt, in.Deadline))
				}
			}
		}
		for _, r := range w.routes() {
			switch c := r.call; {
			case r.PerTry == 0:
			case c.Inbound && c.Deadline > 0:
				emit(r.place(), attemptsWithin(r.Tries, r.PerTry, c.Deadline))
			case !c.Inbound && c.Pool != nil && c.Attempt > 0 && !c.Unbounded:
				emit(Place{Subject: "route to " + c.Name, Ref: r.Ref}, attemptsWithin(r.Tries, r.PerTry, c.Attempt))
			}
		}
	})
}

// attemptsWithin allows for the longest pauses that Envoy makes: 25, 75 and 175 ms,
// and 250 ms for each further one.
func attemptsWithin(attempts int, each, outer float64) t02 {
	pauses := 0.0
	for i, pause := range []float64{0.025, 0.075, 0.175} {
		if i+1 < attempts {
			pauses += pause
		}
	}
	pauses += 0.25 * float64(max(0, attempts-4))
	return t02{attempts, each, pauses, overhead(outer), outer}
}
