package simulate

import (
	"math"
	"slices"
)

// A host is one replica as one proxy sees it.
type host struct {
	replica *replica
	removed bool
	active  int // requests of this proxy
	monitor monitor
	checkup
	trickle trickle
}

// A proxy is the running state of a Proxy.
type proxy struct {
	id   int32
	zone int

	hosts  []*host
	levels []level // by priority: one, or the caller's zone and then the rest
	turn   int     // of the round robin

	active, retrying int
	ejected          int
	leftOut          int
	panicking        bool
}

// A level is a priority of Envoy's: hosts that are used together.
type level struct {
	all, healthy []*host
	load         int // percent of requests that go here
	panic        bool
}

// add makes a host of rep. One that comes while a proxy checks hosts is out until it
// has passed once.
func (p *proxy) add(rep *replica, failing bool) {
	p.hosts = append(p.hosts, &host{replica: rep, checkup: checkup{failing: failing}})
}

// forget removes rep from the proxy's hosts.
func (e *engine) forget(p *proxy, rep *replica) {
	i := slices.IndexFunc(p.hosts, func(h *host) bool { return h.replica == rep })
	if i < 0 {
		return
	}
	h := p.hosts[i]
	h.removed = true
	if h.monitor.ejected {
		e.countEjected(p, -1)
	}
	p.readmit(h)
	p.hosts = slices.Delete(p.hosts, i, i+1)
}

// refresh recomputes what depends on the hosts and their health, as Envoy does on
// each change and not on each pick.
func (e *engine) refresh(p *proxy) {
	for i := range p.levels {
		l := &p.levels[i]
		l.all, l.healthy = l.all[:0], l.healthy[:0]
	}
	for _, h := range p.hosts {
		l := &p.levels[0]
		if len(p.levels) > 1 && h.replica.zone != p.zone {
			l = &p.levels[1]
		}
		l.all = append(l.all, h)
		if !h.monitor.ejected && !h.failing && !h.trickle.out {
			l.healthy = append(l.healthy, h)
		}
	}
	spread(p.levels, e.s.Proxy.PanicThreshold)
	e.m.hosts(p.ejected, len(p.hosts))

	panicking := slices.ContainsFunc(p.levels, func(l level) bool { return l.panic && len(l.all) > 0 })
	if panicking != p.panicking {
		p.panicking = panicking
		e.countPanic(panicking)
	}
}

// overprovision, in percent, is how much of its load a level takes over per
// healthy host: Envoy's default factor, which keeps all load until under 71.4 %
// are healthy.
const overprovision = 140

// spread sets the load and the panic of each level, as Envoy's
// recalculatePerPriorityState and recalculatePerPriorityPanic do, in its integers.
func spread(levels []level, threshold float64) {
	total, hosts, first := 0, 0, -1
	for i := range levels {
		total += levels[i].availability()
		hosts += len(levels[i].all)
		if first < 0 && len(levels[i].all) > 0 {
			first = i
		}
	}
	total = min(total, 100)
	calm := false
	for i := range levels {
		l := &levels[i]
		l.panic = total < 100 && l.percentHealthy() < math.Trunc(threshold)
		calm = calm || !l.panic
	}
	left := 100
	for i := range levels {
		l := &levels[i]
		switch {
		case hosts == 0:
			l.load = 0
			continue
		case !calm:
			l.load = 100 * len(l.all) / hosts
		case total > 0:
			l.load = min(left, l.availability()*100/total)
		default:
			l.load = 0
		}
		left -= l.load
	}
	// Rounding leaves a few percent over; like Envoy, the first level with hosts
	// takes them.
	if first >= 0 {
		levels[first].load += left
	}
}

func (l *level) percentHealthy() float64 {
	if len(l.all) == 0 {
		return 0
	}
	return 100 * float64(len(l.healthy)) / float64(len(l.all))
}

// availability is the share of all load, in percent, that the level's healthy
// hosts could take.
func (l *level) availability() int {
	if len(l.all) == 0 {
		return 0
	}
	return min(100, overprovision*len(l.healthy)/len(l.all))
}

// pick chooses the host for the next try, or nil if there is none.
func (e *engine) pick(p *proxy) *host {
	if h := p.due(e.now); h != nil {
		return h
	}
	l := &p.levels[0]
	if len(p.levels) > 1 && e.picking.IntN(100) >= l.load {
		l = &p.levels[1]
	}
	from := l.healthy
	if l.panic {
		from = l.all
		e.m.panicPicks++
	}
	if len(from) == 0 {
		return nil
	}
	switch e.s.Proxy.Pick {
	case Random:
		return from[e.picking.IntN(len(from))]
	case LeastRequest:
		a, b := from[e.picking.IntN(len(from))], from[e.picking.IntN(len(from))]
		if b.active < a.active {
			return b
		}
		return a
	}
	p.turn++
	return from[p.turn%len(from)]
}
