package check

// t07 is whether a default that nobody wrote cuts calls off.
type t07 struct {
	Plane    ControlPlane
	Explicit *float64
	Need     float64

	// Deadline is that of the program before the proxy; 0 is unknown.
	Deadline float64
}

func (n t07) verdict() Verdict {
	effective := 15.0
	if n.Explicit != nil {
		effective = *n.Explicit
	}
	return holds(n.Explicit != nil || n.Plane == "istio" || n.Need <= effective,
		say("effective route timeout %g s, call needs %g s", effective, n.Need), n.remedy()).over(n.Need / effective)
}

func (n t07) remedy() string {
	if n.Deadline > 0 {
		return say("write the route's timeout: just below the %g s after which its caller gives up", n.Deadline)
	}
	return say("write the route's timeout: %g s or more", n.Need)
}

func ruleT07() Rule {
	return rule(Rule{
		ID: "T07", Title: "an implicit route timeout of 15 s", Severity: Warning,
		Breaks: "the route leaves Envoy's default of 15 s and calls need longer",
		Source: "Envoy's route timeout; Istio turns it off", Needs: "a route and a deadline",
	}, func(w *World, emit func(Place, t07)) {
		for _, r := range w.routes() {
			if r.Plane == "istio" || r.Plane == "grpc" || r.Unknown {
				continue
			}
			n := t07{Plane: r.Plane, Need: max(r.call.P99, r.call.Deadline), Deadline: r.call.Deadline}
			if !r.Implicit {
				n.Explicit = &r.Timeout
			}
			if n.Need > 0 {
				emit(r.place(), n)
			}
		}
	})
}
