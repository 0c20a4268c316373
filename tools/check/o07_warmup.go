package check

// o07 is whether a warming pod gets itself ejected.
type o07 struct {
	Rate, Warm float64
	Hosts      int `json:"n"`
	Proxies    int
	Errors     int `json:"k"`
	Code       code
	Gated      bool
}

func (n o07) verdict() Verdict {
	reach := n.Rate / float64(n.Hosts) / float64(n.Proxies) * n.Warm
	return holds(n.Gated || !isServerError(answer(n.Code)) || reach < float64(n.Errors),
		say("%.4g requests reach a warming pod per proxy, k=%d, code %s, gated=%v", reach, n.Errors, n.Code, n.Gated),
		"a readiness gate; or 429, or a queue, while warming").over(reach / float64(n.Errors))
}

func ruleO07() Rule {
	return rule(Rule{
		ID: "O07", Title: "errors while warming trip the detector", Severity: Error,
		Breaks: "a pod gets traffic before it is warm, answers 5xx, and each proxy sends it as many requests as eject it",
		Source: "consecutive errors have no window: they need only the requests", Needs: "outlier detection, rates, and the time to warm",
	}, func(w *World, emit func(Place, o07)) {
		s := w.Service
		if s.Warm == 0 {
			return
		}
		for _, c := range w.detected() {
			d := c.Policy.Detector
			if k := d.trips(s.Answers); k > 0 && c.Inbound && c.Rate > 0 && len(c.Hosts) > 0 {
				emit(Place{Subject: c.Name, Ref: d.Ref}, o07{c.Rate, s.Warm, c.Hosts[0], c.Proxies, k, code(s.Answers), s.Gated})
			}
		}
	})
}
