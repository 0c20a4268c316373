package check

import (
	"slices"
	"strings"
)

// r01 is how often one call arrives in a full outage.
type r01 struct {
	Attempts []int `json:"a"`

	// Layers says whose they are, if that is known.
	Layers []string
}

func (n r01) verdict() Verdict {
	product, texts := n.product(), make([]string, len(n.Attempts))
	for i, a := range n.Attempts {
		texts[i] = say("%d", a)
	}
	whose := ""
	if len(n.Layers) > 0 {
		whose = " (" + strings.Join(n.Layers, ", ") + ")"
	}
	return holds(product <= 3, say("%s = %.10g upstream attempts per call in a full outage%s", strings.Join(texts, " x "), product, whose), "retry in one layer only: one attempt in the others").over(product / 3)
}

// product is in floats: a manifest may say 2147483647, and mean it.
func (n r01) product() float64 {
	product := 1.0
	for _, a := range n.Attempts {
		product *= float64(a)
	}
	return product
}

// repeatsOutage reports whether a route repeats what an outage answers: errors, resets
// and calls that take too long. Connections that fail are repeated by Istio's default
// too, but no upstream sees those. grpc says that its callers speak gRPC, where
// UNAVAILABLE is an answer.
func (r *Route) repeatsOutage(e Era, grpc bool) bool {
	for on := range strings.SplitSeq(r.retryOn(e), ",") {
		switch on = strings.TrimSpace(on); on {
		case "5xx", "gateway-error", "reset", "500", "502", "503", "504":
			return true
		case "retriable-status-codes": // Istio's default until 1.23 is 503; elsewhere codes stand beside it
			if r.Plane == "istio" && r.On == istioRetryOn {
				return true
			}
		case "unavailable", "internal", "deadline-exceeded", "unknown":
			if grpc {
				return true
			}
		}
	}
	return false
}

// outageTries is how often proxies send one attempt when an outage answers it.
func (c Call) outageTries(e Era) int {
	if c.Route == nil || !c.Route.repeatsOutage(e, c.GRPC || c.Route.Plane == "grpc") {
		return 1
	}
	return c.tries()
}

func ruleR01() Rule {
	return rule(Rule{
		ID: "R01", Title: "layers of retries multiply", Severity: Error,
		Breaks: "the product of the attempts of all layers that repeat what an outage answers > 3",
		Source: "each layer retries what the one below has already retried; Istio's default repeats connections that fail, and no errors since 1.24", Needs: "attempts of more than one layer",
	}, func(w *World, emit func(Place, r01)) {
		for _, e := range w.retryEras() {
			w.layers(e, emit)
		}
	})
}

// layers multiplies what callers, routes and the program do, in one era.
func (w *World) layers(e Era, emit func(Place, r01)) {
	before := r01{[]int{1, 1}, []string{"", ""}}
	for _, c := range w.ways() {
		if !c.Inbound {
			continue
		}
		caller, _, _ := strings.Cut(c.Name, " to ")
		layers := r01{[]int{c.Attempts, c.outageTries(e)}, []string{caller, "route to " + w.Service.Name}}
		if layers.product() > before.product() {
			before = layers
		}
		if c.Route != nil {
			emit(Place{Subject: c.Name, Ref: c.Ref, Era: e.Name}, layers)
		}
	}
	for _, c := range w.poolWays() {
		attempts := append(slices.Clone(before.Attempts), c.Attempts, c.outageTries(e))
		names := append(slices.Clone(before.Layers), w.Service.Name, "route to "+c.Name)
		var shown r01
		for i, a := range attempts {
			if a > 1 {
				shown.Attempts, shown.Layers = append(shown.Attempts, a), append(shown.Layers, names[i])
			}
		}
		if len(shown.Attempts) == 0 { // so that another era in which there are some differs
			shown = r01{[]int{1}, []string{w.Service.Name}}
		}
		emit(Place{Subject: "callers through to " + c.Name, Ref: c.Ref, Era: e.Name}, shown)
	}
}
