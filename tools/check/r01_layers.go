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

func ruleR01() Rule {
	return rule(Rule{
		ID: "R01", Title: "layers of retries multiply", Severity: Error,
		Breaks: "the product of the attempts of all layers > 3",
		Source: "each layer retries what the one below has already retried", Needs: "attempts of more than one layer",
	}, func(w *World, emit func(Place, r01)) {
		before := r01{[]int{1, 1}, []string{"", ""}}
		for _, c := range w.ways() {
			if c.Inbound {
				caller, _, _ := strings.Cut(c.Name, " to ")
				layers := r01{[]int{c.Attempts, c.tries()}, []string{caller, "route to " + w.Service.Name}}
				if layers.product() > before.product() {
					before = layers
				}
				if c.Route != nil {
					emit(c.place(), layers)
				}
			}
		}
		for _, c := range w.poolWays() {
			attempts := append(slices.Clone(before.Attempts), c.Attempts, c.tries())
			names := append(slices.Clone(before.Layers), w.Service.Name, "route to "+c.Name)
			var shown r01
			for i, a := range attempts {
				if a > 1 {
					shown.Attempts, shown.Layers = append(shown.Attempts, a), append(shown.Layers, names[i])
				}
			}
			if len(shown.Attempts) > 0 {
				emit(Place{Subject: "callers through to " + c.Name, Ref: c.Ref}, shown)
			}
		}
	})
}
