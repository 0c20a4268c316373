package check

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// say is fmt.Sprintf under a short name, for the sentences of the rules.
func say(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// counted writes 1 document, or 2 documents.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return say("%d %ss", n, thing)
}

// share writes 58.33%.
func share(x float64) string { return fmt.Sprintf("%.4g%%", 100*x) }

// atMost and atLeast write a bound with four digits, rounded so that what is written
// is within it.
func atMost(x float64) string  { return digits(x, math.Floor) }
func atLeast(x float64) string { return digits(x, math.Ceil) }

func digits(x float64, round func(float64) float64) string {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return say("%g", x)
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-3)
	if near := math.Round(x / unit); math.Abs(near-x/unit) < 1e-6 {
		return say("%.4g", near*unit) // what a float makes of 2.85
	}
	return say("%.4g", round(x/unit)*unit)
}

// place is a call as the subject of a finding.
func (c Call) place() Place { return Place{Subject: c.Name, Ref: c.Ref} }

// tries is how often proxies on the way send one attempt.
func (c Call) tries() int {
	if c.Route == nil {
		return 1
	}
	return max(c.Route.Tries, 1)
}

// pools are the outgoing calls whose sizes are known.
func (w *World) pools() []Call {
	var all []Call
	for _, c := range w.Calls {
		if !c.Inbound && c.Pool != nil {
			all = append(all, c)
		}
	}
	return all
}

// poolWays are the ways of those calls.
func (w *World) poolWays() []Call {
	return slices.DeleteFunc(w.ways(), func(c Call) bool { return c.Inbound || c.Pool == nil })
}

// A routed is a route and the call that takes it.
type routed struct {
	*Route
	call Call
}

func (r routed) place() Place {
	ref := r.Ref
	if ref == (manifest.Ref{}) {
		ref = r.call.Ref // a default that stands nowhere
	}
	return Place{Subject: "route of " + r.call.Name, Ref: ref}
}

func (w *World) routes() []routed {
	var all []routed
	for _, c := range w.ways() {
		if c.Route != nil {
			all = append(all, routed{c.Route, c})
		}
	}
	return all
}

// detected are the calls to hosts that proxies may eject.
func (w *World) detected() []Call {
	var all []Call
	for _, c := range w.ways() {
		if c.Policy != nil && c.Policy.Detector != nil {
			all = append(all, c)
		}
	}
	return all
}

// eachDetector goes through every call with a detector, number of hosts and era.
func (w *World) eachDetector(visit func(p Place, c Call, hosts int, e Era)) {
	for _, c := range w.detected() {
		for _, hosts := range c.Hosts {
			for _, e := range w.eras(c.Policy) {
				visit(Place{Subject: c.Name, Ref: c.Policy.Detector.Ref, Era: e.Name}, c, hosts, e)
			}
		}
	}
}

// threshold is the panic threshold of a policy in an era.
func (w *World) threshold(p *Policy, e Era) int {
	return EffectivePanic(p.Plane, e.Minor, w.panicPolicy(p))
}

// trips is how many answers of this kind in a row eject a host; 0 if none do.
func (d *Detector) trips(a contract.Answer) int {
	status := statusOf(a)
	switch {
	case len(d.Codes) > 0 && !slices.Contains(d.Codes, status): // they replace the test for 5xx
		return 0
	case status >= 502 && status <= 504:
		return least(d.Consecutive5xx, d.Gateway)
	}
	return d.Consecutive5xx
}

// off reports whether nothing ejects a host, as where 0 turns both counters off.
func (d *Detector) off() bool {
	return d.Consecutive5xx == 0 && d.Gateway == 0 && d.LocalOrigin == 0 && !d.Split && len(d.Unknown) == 0
}

// zonesOf is where the calls of a caller begin.
func (w *World) zonesOf(c Call) map[string]contract.Share {
	for name, caller := range w.Contract.Callers {
		if name+" to "+w.Service.Name == c.Name {
			return caller.Zones
		}
	}
	return nil
}

// longestRequest is the longest that a request may be inside: the door's deadline,
// or the most patient caller's.
func (w *World) longestRequest() float64 {
	if w.Contract.Door != nil && w.Contract.Door.Deadline > 0 {
		return w.Contract.Door.Deadline.Seconds()
	}
	longest := 0.0
	for _, c := range w.Calls {
		if c.Inbound {
			longest = max(longest, c.Deadline)
		}
	}
	return longest
}

// A code is an answer that numbers may write as a number.
type code string

func (c *code) UnmarshalJSON(b []byte) error {
	var n int
	if json.Unmarshal(b, &n) == nil {
		*c = code(strconv.Itoa(n))
		return nil
	}
	return json.Unmarshal(b, (*string)(c))
}

func answer(c code) contract.Answer { return contract.Answer(c) }

// statusOf is the HTTP status that a proxy takes an answer for; 0 for none.
//
// Source: Envoy's source/common/grpc/status.cc.
func statusOf(a contract.Answer) int {
	switch a {
	case "RESOURCE_EXHAUSTED":
		return 429
	case "UNAVAILABLE":
		return 503
	case "DEADLINE_EXCEEDED":
		return 504
	case "INTERNAL", "UNKNOWN":
		return 500
	}
	n, err := strconv.Atoi(string(a))
	if err != nil {
		return 0
	}
	return n
}

func isServerError(a contract.Answer) bool { return statusOf(a) >= 500 }
