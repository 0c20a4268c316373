package check

import (
	"slices"
	"strings"
)

// r03 is whether being busy is answered by more of the same.
type r03 struct {
	Busy string
	On   string
}

func (n r03) verdict() Verdict {
	on := strings.Split(n.On, ",")
	retried := slices.Contains(on, n.Busy) || slices.Contains(on, strings.ToLower(strings.ReplaceAll(n.Busy, "_", "-")))
	switch n.Busy {
	case "502", "503", "504":
		retried = retried || slices.Contains(on, "5xx") || slices.Contains(on, "gateway-error") || slices.Contains(on, "retriable-status-codes")
	case "500":
		retried = retried || slices.Contains(on, "5xx")
	}
	return holds(!retried, say("busy=%s is retried (retry_on=%s)", n.Busy, n.On), "answer 429 with Retry-After, kept out of retryOn; in gRPC RESOURCE_EXHAUSTED")
}

func ruleR03() Rule {
	return rule(Rule{
		ID: "R03", Title: "the signal of overload is retried", Severity: Error,
		Breaks: "the answer of a busy host is among what the route retries",
		Source: "Envoy's retry_on; a retry is more load on what has too much", Needs: "a route that retries, and the busy answer",
	}, func(w *World, emit func(Place, r03)) {
		for _, r := range w.routes() {
			if r.Tries <= 1 || r.call.Busy == "" {
				continue
			}
			for _, e := range w.retryEras() {
				p := r.place()
				p.Era = e.Name
				emit(p, r03{string(r.call.Busy), r.retryOn(e)})
			}
		}
	})
}

// retryEras are those in which Istio's default differs: it retried 503 until 1.23, and
// has named no code since.
func (w *World) retryEras() []Era {
	if minor, ok := minorOf(w.Version); ok {
		return []Era{{Minor: minor}}
	}
	return []Era{{Name: "Istio up to 1.23", Minor: 23}, {Name: "Istio 1.24 and later", Minor: 24}}
}

// retryOn is a route's list as it takes effect.
func (r *Route) retryOn(e Era) string {
	if r.On == istioRetryOn && r.Plane == "istio" && e.Minor >= 24 {
		return strings.TrimSuffix(r.On, ",retriable-status-codes")
	}
	return r.On
}
