package check

import "math"

// t06 is who notices a host that hangs.
type t06 struct {
	Proxy, App float64
	Detector   bool `json:"od"`

	// Tries are the proxy's; 0 is one. PerTry says that Proxy bounds each of them.
	Tries  int
	PerTry bool
}

func (n t06) verdict() Verdict {
	times := math.Inf(1)
	if n.Proxy > 0 {
		times = n.Proxy / n.App
	}
	return holds(!n.Detector || n.Proxy > 0 && n.Proxy < n.App,
		say("proxy timeout %g s, app deadline %g s: the caller cancels first, a downstream reset is not an outlier error (envoy#41985)", n.Proxy, n.App),
		n.remedy()).over(times)
}

func (n t06) remedy() string {
	tries := max(n.Tries, 1)
	each := "a per-try timeout of the proxy"
	if tries > 1 {
		each = say("%s for its %d tries", each, tries)
	}
	each = say("%s of at most %s s", each, atMost(attemptsWithin(tries, 0, n.App).room()/float64(tries)))
	if n.PerTry {
		return each + ", so that it records the 504"
	}
	return say("a timeout of the proxy below %g s, so that it records the 504, or %s", n.App, each)
}

func ruleT06() Rule {
	return rule(Rule{
		ID: "T06", Title: "a hung host is invisible to outlier detection", Severity: Error,
		Breaks: "outlier detection is on and the proxy's timeout is unset or not below the program's",
		Source: "Envoy does not count a request that its caller cancels", Needs: "outlier detection and a deadline",
	}, func(w *World, emit func(Place, t06)) {
		for _, c := range w.ways() {
			if c.Policy == nil || c.Policy.Detector == nil || c.Deadline == 0 || c.GRPC {
				continue // grpc-timeout tells the proxy what the program allows
			}
			n, ref := t06{App: c.Attempt, Detector: true}, c.Policy.Detector.Ref
			if c.Policy.Plane == "envoy" || c.Policy.Plane == "envoy-gateway" {
				n.Proxy = envoyTimeout // of a route that nobody wrote
			}
			if r := c.Route; r != nil && r.Unknown {
				continue
			} else if r != nil {
				n.Proxy, n.Tries = r.Timeout, r.Tries
				if r.PerTry > 0 {
					n.Proxy, n.PerTry = r.PerTry, true
				}
				if r.Ref.File != "" {
					ref = r.Ref
				}
			}
			emit(Place{Subject: c.Name, Ref: ref}, n)
		}
	})
}
