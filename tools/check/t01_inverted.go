package check

// t01 is whether the inner side gives up before the outer.
type t01 struct {
	Inner    float64
	Outer    float64
	Overhead float64 `json:"oh"`
}

func (n t01) verdict() Verdict {
	inner := say("inner %g s", n.Inner)
	if n.Overhead > 0 {
		inner += say(" and %.4g s on the way", n.Overhead)
	}
	return holds(n.Inner+n.Overhead < n.Outer,
		say("%s vs outer %g s: up to %g s of work after the caller left; gateway may count success the caller never saw", inner, n.Outer, max(0, n.Inner-n.Outer)),
		say("an inner deadline below %s s; pass on what is left of it", atMost(n.Outer-n.Overhead))).scaled(n.Outer, n.Inner, "s")
}

func ruleT01() Rule {
	return rule(Rule{
		ID: "T01", Title: "timeout inverted", Severity: Error,
		Breaks: "inner timeout + overhead >= outer timeout",
		Source: "work for a caller who has left is lost, and is retried", Needs: "the callers' deadlines",
	}, func(w *World, emit func(Place, t01)) {
		for _, in := range w.Calls {
			if !in.Inbound || in.Deadline == 0 {
				continue
			}
			oh := overhead(in.Deadline)
			for _, c := range w.pools() {
				if !c.Unbounded && c.Deadline > 0 {
					emit(Place{Subject: c.Name + " inside " + in.Name, Ref: c.Ref}, t01{c.Deadline, in.Deadline, oh})
				}
			}
		}
		for _, r := range w.routes() {
			if in := r.call; in.Inbound && in.Deadline > 0 && r.Timeout > 0 && !r.Implicit {
				emit(r.place(), t01{r.Timeout, in.Deadline, 0})
			}
		}
	})
}

// overhead is what the way there and back takes, when nobody says: 0.2 s, or a
// twentieth of a short deadline.
func overhead(outer float64) float64 { return min(0.2, outer/20) }
