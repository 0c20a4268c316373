package check

import "strings"

// t03 is whether every hop gives up at some time.
type t03 struct {
	Timeouts []float64 `json:"t"`

	// Hops says whose they are, if that is known.
	Hops []string
}

func (n t03) verdict() Verdict {
	ok := true
	texts := make([]string, len(n.Timeouts))
	for i, t := range n.Timeouts {
		ok = ok && t > 0
		texts[i] = say("%g", t)
		if i < len(n.Hops) {
			texts[i] = say("%s %g s", n.Hops[i], t)
		}
	}
	return holds(ok, say("timeouts [%s]", strings.Join(texts, ", ")), n.remedy())
}

// remedy is below the timeout of the hop before, where that has one.
func (n t03) remedy() string {
	if len(n.Hops) == 2 && n.Timeouts[0] > 0 {
		return say("a timeout of the %s below the %g s of the %s; 0 is none", n.Hops[1], n.Timeouts[0], n.Hops[0])
	}
	return "a timeout at every hop; 0 is none"
}

// hangsUnseen reports whether T06 says of the route that it has no timeout, and what
// follows from it. One cause is one finding.
func (c Call) hangsUnseen() bool {
	return c.Policy != nil && c.Policy.Detector != nil && c.Deadline > 0 && !c.GRPC && c.Route.Timeout == 0 && c.Route.PerTry == 0
}

func ruleT03() Rule {
	return rule(Rule{
		ID: "T03", Title: "a hop without a timeout", Severity: Error,
		Breaks: "the timeout of any hop is unset or 0",
		Source: "http.Client has none by default; Istio turns Envoy's 15 s off", Needs: "a client, or a route",
	}, func(w *World, emit func(Place, t03)) {
		for _, c := range w.ways() {
			if !c.Inbound && c.Pool == nil || c.Inbound && c.Unbounded && c.Route == nil {
				continue
			}
			var n t03
			ref := c.Ref
			if c.Deadline > 0 || c.Unbounded && !c.Inbound {
				n.Timeouts, n.Hops = append(n.Timeouts, c.Deadline), append(n.Hops, "program")
			}
			if r := c.Route; r != nil && !r.Unknown && !c.hangsUnseen() {
				n.Timeouts, n.Hops = append(n.Timeouts, r.Timeout), append(n.Hops, "route")
				if r.Timeout == 0 && c.Deadline > 0 && r.Ref.File != "" {
					ref = r.Ref
				}
			}
			if len(n.Timeouts) > 0 {
				emit(Place{Subject: c.Name, Ref: ref}, n)
			}
		}
	})
}
