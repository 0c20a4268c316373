package check

import "strings"

// r01 is how often one call arrives in a full outage.
type r01 struct {
	Attempts []int `json:"a"`
}

func (n r01) verdict() Verdict {
	product := 1.0 // a manifest may say 2147483647, and mean it
	texts := make([]string, len(n.Attempts))
	for i, a := range n.Attempts {
		product *= float64(a)
		texts[i] = say("%d", a)
	}
	return holds(product <= 3, say("%s = %.10g upstream attempts per call in a full outage", strings.Join(texts, " x "), product), "retry in one layer only: one attempt in the others").over(product / 3)
}

func ruleR01() Rule {
	return rule(Rule{
		ID: "R01", Title: "layers of retries multiply", Severity: Error,
		Breaks: "the product of the attempts of all layers > 3",
		Source: "each layer retries what the one below has already retried", Needs: "attempts of more than one layer",
	}, func(w *World, emit func(Place, r01)) {
		before := []int{1, 1}
		for _, c := range w.ways() {
			if c.Inbound {
				layers := []int{c.Attempts, c.tries()}
				if layers[0]*layers[1] > before[0]*before[1] {
					before = layers
				}
				if c.Route != nil {
					emit(c.place(), r01{layers})
				}
			}
		}
		for _, c := range w.poolWays() {
			layers := append(append([]int{}, before...), c.Attempts, c.tries())
			shown := layers[:0:0]
			for _, a := range layers {
				if a > 1 {
					shown = append(shown, a)
				}
			}
			if len(shown) > 0 {
				emit(Place{Subject: "callers through to " + c.Name, Ref: c.Ref}, r01{shown})
			}
		}
	})
}
