package check

import "math"

// o10 is whether the detector notices a host that fails now and then.
type o10 struct {
	Errors  int     `json:"k"`
	Failing float64 `json:"p"` // share of failures
	Rate    float64 `json:"r"` // requests per second
}

func (n o10) verdict() Verdict {
	needed := n.needed(n.Errors)
	return holds(needed <= n.Rate*60, say("needs %.4g requests on average, sees %.4g per minute", needed, n.Rate*60), n.remedy()).over(needed / (n.Rate * 60))
}

// needed is the mean number of requests until so many failures in a row.
func (n o10) needed(errors int) float64 {
	p := math.Pow(n.Failing, float64(errors))
	return (1 - p) / (p * (1 - n.Failing))
}

func (n o10) remedy() string {
	for errors := min(n.Errors, 50); errors > 1; errors-- { // a single error ejects too soon
		if n.needed(errors) <= n.Rate*60 {
			return say("a threshold of %d or less", errors)
		}
	}
	return "no detector: one proxy sends a host too few requests to tell"
}

func ruleO10() Rule {
	return rule(Rule{
		ID: "O10", Title: "the detector can not trip", Severity: Info,
		Breaks: "the mean number of requests until k failures in a row, (1 - p^k) / (p^k (1 - p)) with p = 1/2, is more than a host sees in a minute",
		Source: "run lengths of independent trials", Needs: "outlier detection, a rate and the number of hosts",
	}, func(w *World, emit func(Place, o10)) {
		for _, c := range w.detected() {
			d := c.Policy.Detector
			k := least(d.Consecutive5xx, d.Gateway)
			if k > 0 && c.Rate > 0 && len(c.Hosts) > 0 {
				emit(Place{Subject: c.Name, Ref: d.Ref}, o10{k, 0.5, c.Rate / float64(c.Hosts[0]*c.Proxies)})
			}
		}
	})
}
