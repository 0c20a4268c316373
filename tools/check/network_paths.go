package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
)

// A chain is edges one behind the other.
type chain []*edge

func (p chain) attempts() float64 {
	product := 1.0
	for _, e := range p {
		product *= float64(max(e.plan.Attempts, 1))
	}
	return product
}

func (p chain) String() string {
	var b strings.Builder
	for i, e := range p {
		if i == 0 {
			b.WriteString(e.from.Service)
		}
		b.WriteString(" to " + e.to.Service)
	}
	return b.String()
}

// paths finds of each service that nobody calls the path with the most attempts. Each
// service is looked at once: behind it the worst path is the same wherever one comes
// from, but for circles, which have a rule of their own.
func (n *Network) paths() {
	worst := map[*contract.Contract]chain{}
	open := map[*contract.Contract]bool{}
	var below func(c *contract.Contract) chain
	below = func(c *contract.Contract) chain {
		if p, ok := worst[c]; ok || open[c] {
			return p
		}
		open[c] = true
		defer delete(open, c)
		var best chain
		for _, e := range n.out(c) {
			if open[e.to] {
				continue
			}
			if p := append(chain{e}, below(e.to)...); p.attempts() > best.attempts() || best == nil {
				best = p
			}
		}
		worst[c] = best
		return best
	}
	for _, c := range n.services {
		if slices.ContainsFunc(n.edges, func(e *edge) bool { return e.to == c }) {
			continue
		}
		p := below(c)
		if p.attempts() <= 3 {
			continue
		}
		var texts []string
		for _, e := range p {
			if e.plan.Attempts > 1 {
				texts = append(texts, say("%d", e.plan.Attempts))
			}
		}
		most := slices.MaxFunc(p, func(a, b *edge) int { return cmp.Compare(a.plan.Attempts, b.plan.Attempts) })
		most.add("N04", p.String(), most.at(), say("%s = %g attempts at %s for one call in an outage", strings.Join(texts, " x "), p.attempts(), p[len(p)-1].to.Service),
			say("attempts: 1 for all but one of them, such as %s", most.name()))
	}
}

// circles finds circles of warming and of retries, each once, by its first edge.
func (n *Network) circles() {
	warms := func(e *edge) bool { return !e.from.Upstreams[e.upstream].Warm.Optional }
	told := map[string]bool{}
	for _, first := range n.edges {
		if p := n.back(first, warms); p != nil && !told["N06"+key(p)] {
			told["N06"+key(p)] = true
			first.add("N06", p.String(), first.at(), say("%s must be warm before %s is ready, and so on round", first.to.Service, first.from.Service), say("warm: {optional: true} for one of them, such as %s", first.name()))
		}
		p := n.back(first, func(*edge) bool { return true })
		if p != nil && p.attempts() > 1 && !told["N07"+key(p)] {
			told["N07"+key(p)] = true
			first.add("N07", p.String(), first.at(), say("each round makes %g of one call", p.attempts()), "attempts: 1 in the whole circle")
		}
	}
}

// key is the services of a circle, wherever it begins.
func key(p chain) string {
	var names []string
	for _, e := range p {
		names = append(names, e.from.Service)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// back is the shortest circle that begins with an edge, over edges that qualify; nil
// if there is none.
func (n *Network) back(first *edge, ok func(*edge) bool) chain {
	if !ok(first) {
		return nil
	}
	seen := map[*contract.Contract]bool{first.to: true}
	next := []chain{{first}}
	for len(next) > 0 {
		p := next[0]
		next = next[1:]
		at := p[len(p)-1].to
		if at == first.from {
			return p
		}
		for _, e := range n.out(at) {
			if ok(e) && (!seen[e.to] || e.to == first.from) {
				seen[e.to] = true
				next = append(next, append(slices.Clone(p), e))
			}
		}
	}
	return nil
}

// Mermaid draws the network after it was checked, worst edge first: those with errors
// are thick and red, those with warnings orange.
func (n *Network) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	id := map[*contract.Contract]string{}
	for i, c := range n.services {
		id[c] = say("s%d", i)
		b.WriteString(say("  s%d[\"%s\"]\n", i, c.Service))
	}
	count := func(e *edge, s Severity) (n int) {
		for _, f := range e.findings {
			if f.Severity == s {
				n++
			}
		}
		return n
	}
	edges := slices.Clone(n.edges)
	slices.SortStableFunc(edges, func(x, y *edge) int {
		return cmp.Or(cmp.Compare(count(y, Error), count(x, Error)), cmp.Compare(count(y, Warning), count(x, Warning)))
	})
	styles := ""
	for i, e := range edges {
		label := say("%g/s, %v, attempts %d", e.rate, e.plan.Deadline, max(e.plan.Attempts, 1))
		var ids []string
		for _, f := range e.findings {
			ids = append(ids, f.Rule)
		}
		slices.Sort(ids)
		arrow := "-->"
		switch {
		case count(e, Error) > 0:
			arrow = "==>"
			styles += say("  linkStyle %d stroke:#c00,color:#c00\n", i)
		case len(ids) > 0:
			styles += say("  linkStyle %d stroke:#d80\n", i)
		}
		if len(ids) > 0 {
			label += ", " + strings.Join(slices.Compact(ids), " ")
		}
		b.WriteString(say("  %s %s|\"%s\"| %s\n", id[e.from], arrow, label, id[e.to]))
	}
	return b.String() + styles
}
