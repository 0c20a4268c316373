package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// A Network is the contracts of several services, and what one has agreed with
// another. Its zero value has none; NewNetwork makes it, and it is read-only.
type Network struct {
	services []*contract.Contract
	edges    []*edge
}

// An edge is the calls of one service to another.
type edge struct {
	from, to *contract.Contract
	upstream string
	plan     capacity.Plan
	rate     float64
	findings []Finding
}

func (e *edge) name() string { return e.from.Service + " to " + e.to.Service }

func refOf(c *contract.Contract, path string) manifest.Ref {
	p := c.Position(path)
	return manifest.Ref{File: p.File, Line: p.Line}
}

// at is where the caller speaks of the callee, and taken where the callee speaks of it.
func (e *edge) at() manifest.Ref    { return refOf(e.from, "upstreams."+e.upstream) }
func (e *edge) taken() manifest.Ref { return refOf(e.to, "callers."+e.from.Service) }

// NetworkRules returns the rules about several contracts at once. They are not among
// those of [Rules], which know one.
func NetworkRules() []Rule {
	return []Rule{
		{
			ID: "N01", Title: "the rates of a seam differ", Severity: Error,
			Breaks: "a caller states a higher rate than the callee has for it, or is none of the callers that the callee states",
			Source: "the callee's door and upstreams are sized from its callers", Needs: "both contracts",
		},
		{
			ID: "N02", Title: "the deadlines of a seam differ", Severity: Error,
			Breaks: "a caller gives up before the callee believes that it does",
			Source: "the callee's own deadlines are kept within that of its callers", Needs: "both contracts",
		},
		{
			ID: "N03", Title: "the attempts of a seam differ", Severity: Error,
			Breaks: "a caller sends a call more often than the callee has for it",
			Source: "what a callee does not know of, it has no places for", Needs: "both contracts",
		},
		{
			ID: "N04", Title: "retries multiply along a path", Severity: Error,
			Breaks: "the product of the attempts from a service to the last that it leads to > 3",
			Source: "each layer repeats what the one below has already repeated", Needs: "the contracts of a path",
		},
		{
			ID: "N05", Title: "deadlines do not nest along a path", Severity: Error,
			Breaks: "a callee gives its own upstream as long as its caller gives it, or longer",
			Source: "work for a caller who has left is lost, and is repeated", Needs: "the contracts of a path",
		},
		{
			ID: "N06", Title: "services warm each other", Severity: Error,
			Breaks: "a circle of upstreams, each of which must be warm before the service before it is ready",
			Source: "none of them becomes ready first, after all of them were gone", Needs: "the contracts of a circle",
		},
		{
			ID: "N07", Title: "retries go round", Severity: Warning,
			Breaks: "a circle of upstreams in which one sends a call more than once",
			Source: "each round multiplies the calls of the one before", Needs: "the contracts of a circle",
		},
		{
			ID: "N08", Title: "all callers need more than the door has", Severity: Error,
			Breaks: "the rates of all callers with their retries x latency inside > places of all replicas, where the callee states a door",
			Source: "Little's law", Needs: "the contracts of the callers, and the callee's door with its latency",
		},
	}
}

// NewNetwork finds who calls whom: an upstream's host, or its name, is a service's.
func NewNetwork(services []*contract.Contract) *Network {
	n := &Network{services: slices.SortedFunc(slices.Values(services), func(a, b *contract.Contract) int { return strings.Compare(a.Service, b.Service) })}
	for _, from := range n.services {
		for _, name := range slices.Sorted(maps.Keys(from.Upstreams)) {
			u := from.Upstreams[name]
			host := cmp.Or(u.Host, hostOf(u))
			i := slices.IndexFunc(n.services, func(to *contract.Contract) bool { return sameHost(to.Service, host) || to.Service == name })
			if i < 0 {
				continue // nobody gave its contract
			}
			e := &edge{from: from, to: n.services[i], upstream: name, rate: float64(u.Rate)}
			if plan, err := from.Plan(name); err == nil {
				e.plan = plan
			}
			n.edges = append(n.edges, e)
		}
	}
	return n
}

// Check applies the rules of [NetworkRules].
func (n *Network) Check() *Report {
	r := &Report{}
	for i, c := range n.services {
		if i > 0 && n.services[i-1].Service == c.Service {
			r.Broken = append(r.Broken, manifest.Problem{Ref: refOf(c, "service"), Text: say("service: %s has a contract in %v too; one of them would do", c.Service, refOf(n.services[i-1], "service"))})
		}
	}
	for _, e := range n.edges {
		n.seam(e)
		n.nesting(e)
	}
	n.doors()
	n.paths()
	n.circles()
	for _, e := range n.edges {
		r.Findings = append(r.Findings, e.findings...)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject))
	})
	r.Notes = []string{say("%s, %s between them", counted(len(n.services), "contract"), counted(len(n.edges), "seam"))}
	for _, rule := range NetworkRules() {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == rule.ID }) && len(n.edges) > 0 {
			r.Held = append(r.Held, rule.ID)
		}
	}
	return r
}

func (e *edge) add(id, subject string, ref manifest.Ref, evidence, remedy string) {
	e.findings = append(e.findings, aboutInput(id, subject, ref, evidence, remedy))
}

// seam compares what a caller says it does with what the callee says of it.
func (n *Network) seam(e *edge) {
	to, me := e.to.Service, e.from.Service
	caller, known := e.to.Callers[me]
	if !known {
		if len(e.to.Callers) > 0 && e.rate > 0 {
			e.add("N01", e.name(), e.at(), say("%s sends %g/s, and is none of the callers of %s (%v)", me, e.rate, to, refOf(e.to, "callers")), say("callers.%s with a rate of %g/s in the contract of %s", me, e.rate, to))
		}
		return
	}
	if e.rate > float64(caller.Rate) {
		e.add("N01", e.name(), e.taken(), say("%s sends %g/s (%v), and %s takes %g/s from it", me, e.rate, e.at(), to, float64(caller.Rate)), say("callers.%s.rate: %g/s in the contract of %s, or a rate of %g/s in that of %s", me, e.rate, to, float64(caller.Rate), me))
	}
	if d := e.plan.Deadline; d > 0 && d < caller.Deadline {
		e.add("N02", e.name(), e.taken(), say("%s gives up after %v (%v), and %s believes after %v", me, d, e.at(), to, caller.Deadline), say("callers.%s.deadline: %v in the contract of %s", me, d, to))
	}
	if a := max(caller.Attempts, 1); e.plan.Attempts > a {
		e.add("N03", e.name(), e.taken(), say("%s sends a call up to %d times (%v), and %s has %d for it", me, e.plan.Attempts, e.at(), to, a), say("callers.%s.attempts: %d in the contract of %s, or attempts: %d in that of %s", me, e.plan.Attempts, to, a, me))
	}
}

// nesting compares the deadline of a seam with those of the ones behind it.
func (n *Network) nesting(e *edge) {
	for _, next := range n.out(e.to) {
		if outer, inner := e.plan.Deadline, next.plan.Deadline; outer > 0 && inner >= outer {
			next.add("N05", e.name()+" to "+next.to.Service, next.at(), say("%s gives %s %v, and %s gives %s %v", e.to.Service, next.to.Service, inner, e.from.Service, e.to.Service, outer),
				say("a deadline below %v for %s in the contract of %s", outer*9/10, next.to.Service, e.to.Service))
		}
	}
}

func (n *Network) out(c *contract.Contract) []*edge {
	var all []*edge
	for _, e := range n.edges {
		if e.from == c {
			all = append(all, e)
		}
	}
	return all
}

// doors adds up what all callers need of a callee that states a door. It is tempting
// to hold their places against one that states none, but no limit that is stated is
// not no limit.
func (n *Network) doors() {
	for _, c := range n.services {
		if c.Door == nil || c.Door.Latency == 0 {
			continue
		}
		var in []*edge
		rate, texts := 0.0, []string{}
		for _, e := range n.edges {
			if e.to == c {
				in = append(in, e)
				share := 0.0
				if e.plan.Attempts > 1 {
					share = e.plan.RetryShare
				}
				rate += e.rate * (1 + share)
				texts = append(texts, say("%s %g/s", e.from.Service, e.rate*(1+share)))
			}
		}
		need, has := rate*c.Door.Latency.Seconds(), c.Door.InFlight*c.Replicas.Min
		if need > float64(has) {
			worst := slices.MaxFunc(in, func(a, b *edge) int { return cmp.Compare(a.rate, b.rate) })
			worst.add("N08", "callers to "+c.Service, refOf(c, "door"), say("%.4g/s with retries x %g s = %.4g in flight vs %d places of %d replicas (%s)", rate, c.Door.Latency.Seconds(), need, has, c.Replicas.Min, strings.Join(texts, ", ")),
				say("inFlight: %d, or %d replicas", ceilTo(need/float64(c.Replicas.Min)), ceilTo(need/float64(c.Door.InFlight))))
		}
	}
}
