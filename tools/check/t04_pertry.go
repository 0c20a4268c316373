package check

// t04 is whether a slow attempt leaves time for the next.
type t04 struct {
	Tries  int     `json:"n"`
	PerTry float64 `json:"per"`
	Route  float64
}

func (n t04) verdict() Verdict {
	return holds(n.Tries <= 1 || n.Route == 0 || n.PerTry < n.Route,
		say("per-try %g s, route %g s: Envoy ignores it / a slow first try leaves no time for a retry", n.PerTry, n.Route),
		say("a per-try timeout below %s s", atMost(n.Route/float64(max(n.Tries, 1))))).over(n.PerTry / n.Route)
}

func ruleT04() Rule {
	return rule(Rule{
		ID: "T04", Title: "the per-try timeout is not below the route's", Severity: Error,
		Breaks: "tries > 1 and per-try timeout >= route timeout > 0",
		Source: "Envoy's router ignores a per-try timeout that is not below the route's", Needs: "a route with both",
	}, func(w *World, emit func(Place, t04)) {
		for _, r := range w.routes() {
			if r.PerTry > 0 && r.Timeout > 0 {
				emit(r.place(), t04{r.Tries, r.PerTry, r.Timeout})
			}
		}
	})
}
