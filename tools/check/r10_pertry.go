package check

import (
	"slices"
	"strings"
)

// r10 is whether a per-try timeout leads to another try.
type r10 struct {
	PerTry float64 `json:"per"`
	Tries  int     `json:"n"`
	On     string
}

func (n r10) verdict() Verdict {
	on := strings.Split(n.On, ",")
	retried := slices.Contains(on, "5xx") || slices.Contains(on, "gateway-error") || slices.Contains(on, "reset")
	return holds(n.PerTry == 0 || n.Tries <= 1 || retried, say("per-try %g s is never retried (retry_on %s): a per-try timeout is a local reset", n.PerTry, n.On), "add reset or gateway-error to retryOn, or drop the attempts")
}

func ruleR10() Rule {
	return rule(Rule{
		ID: "R10", Title: "a per-try timeout is never retried", Severity: Warning,
		Breaks: "a per-try timeout is set, tries > 1, and retryOn has none of 5xx, gateway-error and reset",
		Source: "Envoy's retry_state_impl.cc", Needs: "a route with a per-try timeout",
	}, func(w *World, emit func(Place, r10)) {
		for _, r := range w.routes() {
			if r.PerTry > 0 && r.Plane != "grpc" {
				emit(r.place(), r10{r.PerTry, r.Tries, r.On})
			}
		}
	})
}
