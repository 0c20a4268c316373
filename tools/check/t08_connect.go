package check

// t08 is whether a host that drops packets uses up a whole attempt.
type t08 struct {
	Connect float64 `json:"conn"`
	Attempt float64 `json:"per"`
}

func (n t08) verdict() Verdict {
	return holds(n.Connect < n.Attempt, say("connect %g s vs per-try %g s: a blackholed pod burns the whole try", n.Connect, n.Attempt), n.remedy()).over(n.Connect / n.Attempt)
}

func (n t08) remedy() string {
	s := say("a connect timeout below %g s", n.Attempt)
	if n.Attempt > 1 {
		s += "; 1 s would do inside a mesh, or less"
	}
	return s
}

func ruleT08() Rule {
	return rule(Rule{
		ID: "T08", Title: "the connect timeout is not below an attempt's", Severity: Warning,
		Breaks: "connect timeout >= attempt timeout",
		Source: "Istio's default connect timeout is 10 s", Needs: "a proxy's policy and an attempt",
	}, func(w *World, emit func(Place, t08)) {
		for _, c := range w.ways() {
			if c.Policy == nil || c.Policy.ConnectTimeout == 0 {
				continue
			}
			per := c.Attempt
			if r := c.Route; r != nil && r.PerTry > 0 {
				per = r.PerTry
			}
			if per > 0 && !c.Unbounded {
				emit(Place{Subject: c.Name, Ref: c.Policy.Ref}, t08{c.Policy.ConnectTimeout, per})
			}
		}
	})
}
