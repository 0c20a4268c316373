package simulate

import "github.com/offtake-go/offtake/capacity"

// A gate is the running state of a Gate. Its waiters are a list through the
// requests themselves, so that one whose time is up leaves from the middle at no
// cost.
type gate struct {
	places int // 0 is no limit
	most   int // waiters
	lastIn bool
	over   bool // Observe: let everyone in
	closed bool // a warming replica admits nobody, but lets them wait

	used, waiting int
	first, last   int32
	pumping       bool
}

func newGate(g Gate) gate {
	most := int(g.Queue)
	switch most {
	case 0:
		most = g.Places
	case capacity.NoQueue:
		most = 0
	}
	return gate{places: g.Places, most: most, lastIn: g.LastIn, over: g.Observe, first: none, last: none}
}

// An admission is what a gate did with a request.
type admission uint8

const (
	admitted admission = iota
	queued
	refused
)

// enter asks for a place for request r.
func (e *engine) enter(g *gate, r int32) admission {
	if !g.closed && (g.places == 0 || g.used < g.places) {
		g.used++
		e.m.waited(g, 0)
		return admitted
	}
	if g.waiting < g.most || g.closed && g.places == 0 {
		e.push(g, r)
		return queued
	}
	e.m.gatesRefused++
	if g.over && !g.closed {
		g.used++
		return admitted
	}
	return refused
}

// push appends r to the waiters.
func (e *engine) push(g *gate, r int32) {
	req := &e.requests[r]
	req.prev, req.next, req.queuedAt = g.last, none, e.now
	if g.last == none {
		g.first = r
	} else {
		e.requests[g.last].next = r
	}
	g.last = r
	g.waiting++
	e.m.queue.add(e.now, 1)
}

// remove takes r out of the waiters, wherever it stands.
func (e *engine) remove(g *gate, r int32) {
	req := &e.requests[r]
	if req.prev == none {
		g.first = req.next
	} else {
		e.requests[req.prev].next = req.next
	}
	if req.next == none {
		g.last = req.prev
	} else {
		e.requests[req.next].prev = req.prev
	}
	req.prev, req.next = none, none
	g.waiting--
	e.m.queue.add(e.now, -1)
}

// leave gives a place back and lets waiters in.
func (e *engine) leave(g *gate, enter func(int32)) {
	g.used--
	e.pump(g, enter)
}

// pump lets waiters in while there are places. What enters may leave at once, as
// when the upstream refuses it; it then finds the pump running and leaves the
// rest to it, or the stack would grow with the queue.
func (e *engine) pump(g *gate, enter func(int32)) {
	if g.pumping {
		return
	}
	g.pumping = true
	for !g.closed && g.first != none && (g.places == 0 || g.used < g.places) {
		r := g.first
		if g.lastIn {
			r = g.last
		}
		e.remove(g, r)
		g.used++
		e.m.waited(g, e.now-e.requests[r].queuedAt)
		enter(r)
	}
	g.pumping = false
}
