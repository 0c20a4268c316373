package check

import "github.com/offtake-go/offtake/capacity"

// c07 is whether the median was taken for the mean.
type c07 struct {
	P50, P99 float64
}

func (n c07) verdict() Verdict {
	s := capacity.FitLognormal(n.P50, n.P99)
	return holds(s.Mean() <= 1.1*n.P50,
		say("sigma=%.4g, mean=%.4g s = %.4g x p50", s.Sigma(), s.Mean(), s.Mean()/n.P50),
		say("size with the mean, %.4g s", s.Mean()))
}

func ruleC07() Rule {
	return rule(Rule{
		ID: "C07", Title: "Little's law fed with a median", Severity: Warning,
		Breaks: "a pool stated by hand carries rate x p50 x headroom but not rate x mean x headroom, and the mean is above 1.1 x p50",
		Source: "Little's law wants the mean; lognormal fit", Needs: "p50, p99 and a pool stated by hand",
	}, func(w *World, emit func(Place, c07)) {
		for _, c := range w.pools() {
			u := c.Upstream
			byHand := u.InFlight > 0 || c.Pool.Foreign && c.Pool.Cap > 0
			if !byHand || u.P50 == 0 || u.P99 < u.P50 {
				continue
			}
			all := float64(c.Pool.Cap * w.Service.Min)
			peak := c.Rate * c.Pool.Headroom
			if all >= peak*u.P50.Seconds() && all < peak*c.Mean {
				emit(c.place(), c07{u.P50.Seconds(), u.P99.Seconds()})
			}
		}
	})
}
