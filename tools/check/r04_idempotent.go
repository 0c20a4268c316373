package check

import (
	"slices"
	"strings"
)

// r04 is whether a call may be made twice.
type r04 struct {
	Tries      int  `json:"n"`
	Idempotent bool `json:"idem"`
	On         string
}

func (n r04) verdict() Verdict {
	on := strings.Split(n.On, ",")
	mayHaveRun := slices.ContainsFunc(on, func(s string) bool {
		return slices.Contains([]string{"5xx", "gateway-error", "reset", "500", "502", "504"}, s)
	})
	return holds(n.Tries <= 1 || n.Idempotent || !mayHaveRun, say("attempts %d, idempotent=%v, on %s", n.Tries, n.Idempotent, n.On),
		"an idempotency key, or retry only connect-failure, refused-stream and reset-before-request").over(float64(n.Tries))
}

func ruleR04() Rule {
	return rule(Rule{
		ID: "R04", Title: "a call that is not idempotent is retried", Severity: Error,
		Breaks: "tries > 1, the call may not be repeated, and retryOn has 5xx, gateway-error, reset, 500, 502 or 504",
		Source: "after these the first attempt may have done its work", Needs: "a route that retries",
	}, func(w *World, emit func(Place, r04)) {
		for _, r := range w.routes() {
			if r.Tries > 1 && !r.call.Inbound {
				emit(r.place(), r04{r.Tries, r.call.Idempotent, r.On})
			}
		}
	})
}
