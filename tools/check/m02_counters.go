package check

import (
	"regexp"
	"strings"
)

// m02 is whether anyone can see what the proxies do.
type m02 struct {
	Included []string `json:"inc"`

	// Breaker says that a breaker is used, and no outlier detection.
	Breaker bool
}

func (n m02) verdict() Verdict {
	counters := []string{"outlier_detection.ejections_active", "lb_healthy_panic"}
	if n.Breaker {
		counters = []string{"circuit_breakers.default.rq_open"}
	}
	ok := true
	for _, name := range counters {
		ok = ok && n.includes("cluster.outbound|80||a."+name)
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
		Breaks: "outlier detection or a breaker is used on Istio and proxyStatsMatcher does not include its counters",
		Source: "Istio's bootstrap includes few counters by default", Needs: "outlier detection or a breaker on Istio",
	}, func(w *World, emit func(Place, m02)) {
		var used *Policy
		for _, c := range w.ways() {
			p := c.Policy
			if p == nil || p.Plane != "istio" {
				continue
			}
			if p.Detector != nil {
				used = p
				break
			}
			if used == nil && p.MaxConnections+p.MaxRequests+p.MaxPending > 0 {
				used = p
			}
		}
		if used == nil {
			return
		}
		ref := used.Ref
		if used.Detector != nil {
			ref = used.Detector.Ref
		}
		if w.Service.StatsRef.File != "" {
			ref = w.Service.StatsRef
		}
		emit(Place{Subject: w.Service.Name, Ref: ref}, m02{w.statsInclusion(), used.Detector == nil}) // once for the mesh
	})
}
