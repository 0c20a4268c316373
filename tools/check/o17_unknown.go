package check

import (
	"slices"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
)

// o17 is whether the fields of a detector exist.
type o17 struct {
	Fields []string `json:"f"`

	// Unknown is what the API's own types say, where a manifest was read; without
	// it, F is compared with Istio's names.
	Unknown *[]string
}

func (n o17) verdict() Verdict {
	var unknown []string
	if n.Unknown != nil {
		unknown = *n.Unknown
	} else {
		for _, f := range n.Fields {
			if !slices.Contains(outlierFields(), f) {
				unknown = append(unknown, f)
			}
		}
	}
	quoted := make([]string, len(unknown))
	var meant []string
	for i, f := range unknown {
		quoted[i] = "'" + f + "'"
		if near := contract.Nearest(f, outlierFields()); near != "" && !slices.Contains(meant, near) {
			meant = append(meant, near)
		}
	}
	if len(meant) == 0 {
		meant = []string{"consecutive5xxErrors or consecutiveGatewayErrors"}
	}
	return holds(len(unknown) == 0, say("unknown [%s]", strings.Join(quoted, ", ")), strings.Join(meant, " and "))
}

// outlierFields are those of Istio's OutlierDetection.
func outlierFields() []string {
	return []string{
		"splitExternalLocalOriginErrors", "consecutiveLocalOriginFailures", "consecutiveGatewayErrors", "consecutive5xxErrors", "interval",
		"baseEjectionTime", "maxEjectionPercent", "minHealthPercent", "outlierDetectionHttpErrorCodes", "failurePercentageThreshold",
	}
}

func ruleO17() Rule {
	return rule(Rule{
		ID: "O17", Title: "an unknown field in outlierDetection", Severity: Error,
		Breaks: "a field is not in the API, such as consecutive5xx, or is deprecated, such as consecutiveErrors",
		Source: "a field that is dropped leaves the default of 5 in force", Needs: "outlier detection",
	}, func(w *World, emit func(Place, o17)) {
		for _, c := range w.detected() {
			d := c.Policy.Detector
			emit(Place{Subject: c.Name, Ref: d.Ref}, o17{d.Fields, &d.Unknown})
		}
	})
}
