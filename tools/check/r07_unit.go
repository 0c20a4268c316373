package check

import (
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwx "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// r07 is whether a rate was read as a number at once.
type r07 struct {
	Count, Proxies int
	Load           float64 `json:"l"`
}

func (n r07) verdict() Verdict {
	meant := 0.2 * n.Load
	return holds(float64(n.Count*n.Proxies) <= meant || n.Count == 1,
		say("%d x %d proxies = %d concurrent retries always allowed vs %.4g meant", n.Count, n.Proxies, n.Count*n.Proxies, meant),
		say("count %d, or retryBudget in a DestinationRule", max(1, int(meant)/max(n.Proxies, 1)))).over(float64(n.Count*n.Proxies) / meant)
}

func ruleR07() Rule {
	return rule(Rule{
		ID: "R07", Title: "the controller changes the unit of a budget", Severity: Warning,
		Breaks: "minRetryRate.count x proxies > 20% of the calls in flight, where Istio takes the rate for a number at once, and it is not 1, the least there is",
		Source: "Istio's backend_policies.go: count becomes min_retry_concurrency", Needs: "an XBackendTrafficPolicy on Istio, a rate and a latency",
	}, func(w *World, emit func(Place, r07)) {
		for _, c := range w.Calls {
			if b := w.constraintOf(c.host); w.Plane == "istio" && b != nil && c.Rate*c.Mean > 0 {
				emit(Place{Subject: c.Name, Ref: b.Ref}, r07{b.Min, c.Proxies, c.Rate * c.Mean})
			}
		}
	})
}

// constraintOf is the retry budget that Istio makes of an XBackendTrafficPolicy; nil
// without one.
func (w *World) constraintOf(host string) *Budget {
	for _, o := range manifest.Of[*gwx.XBackendTrafficPolicy](w.Manifest) {
		spec := o.Value.(*gwx.XBackendTrafficPolicy).Spec
		if spec.RetryConstraint == nil || !slices.ContainsFunc(spec.TargetRefs, func(t gwv1.LocalPolicyTargetReference) bool {
			return sameHost(completed(string(t.Name), o.Namespace), host)
		}) {
			continue
		}
		b := &Budget{Min: 10, IsRate: true, Ref: o.At("spec", "retryConstraint")}
		if r := spec.RetryConstraint.MinRetryRate; r != nil && r.Count != nil {
			b.Min = *r.Count
		}
		if budget := spec.RetryConstraint.Budget; budget != nil && budget.Percent != nil {
			percent := float64(*budget.Percent)
			b.Percent = &percent
		}
		return b
	}
	return nil
}
