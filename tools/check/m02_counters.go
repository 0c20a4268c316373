package check

import (
	"regexp"
	"strings"
)

// m02 is whether anyone can see what the proxies do.
type m02 struct {
	Included []string `json:"inc"`
}

func (n m02) verdict() Verdict {
	ok := true
	for _, name := range []string{"cluster.outbound|80||a.outlier_detection.ejections_active", "cluster.outbound|80||a.lb_healthy_panic"} {
		ok = ok && n.includes(name)
	}
	quoted := make([]string, len(n.Included))
	for i, s := range n.Included {
		quoted[i] = "'" + s + "'"
	}
	return holds(ok, say("inclusion [%s]", strings.Join(quoted, ", ")),
		"proxyStatsMatcher with inclusionRegexps .*outlier_detection.*, .*lb_healthy_panic.* and .*circuit_breakers.*")
}

func (n m02) includes(name string) bool {
	for _, s := range n.Included {
		if strings.HasPrefix(name, s) {
			return true
		}
		if re, err := regexp.Compile("^(?:" + s + ")$"); err == nil && re.MatchString(name) {
			return true
		}
	}
	return false
}

func ruleM02() Rule {
	return rule(Rule{
		ID: "M02", Title: "the mesh's counters are not exported", Severity: Warning,
		Breaks: "outlier detection is used on Istio and proxyStatsMatcher does not include its counters",
		Source: "Istio's bootstrap includes few counters by default", Needs: "outlier detection on Istio",
	}, func(w *World, emit func(Place, m02)) {
		for _, c := range w.detected() {
			if c.Policy.Plane == "istio" {
				ref := w.Service.StatsRef
				if ref.File == "" {
					ref = c.Policy.Detector.Ref
				}
				emit(Place{Subject: w.Service.Name, Ref: ref}, m02{w.statsInclusion()})
				return // once for the mesh
			}
		}
	})
}
