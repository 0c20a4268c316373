package simulate

// check holds the run against the laws that no scenario can bend: every call that
// began has ended or is live, places are never negative and never more than there
// are, and what the proxies count in flight is what is in flight.
func (e *engine) check() {
	if e.begun != e.ended+int64(e.liveCalls) {
		e.fail("%d calls began, %d ended and %d are live", e.begun, e.ended, e.liveCalls)
	}
	e.checkRequests()
	for _, p := range e.proxies {
		active, ejected, leftOut := 0, 0, 0
		for i := range e.calls {
			if c := &e.calls[i]; c.live && c.request != none && c.proxy == p.id {
				active++
			}
		}
		for _, h := range p.hosts {
			if h.active < 0 {
				e.fail("%d requests in flight to replica %d", h.active, h.replica.id+1)
			}
			if h.monitor.ejected {
				ejected++
			}
		}
		for _, h := range p.hosts {
			if h.trickle.out {
				leftOut++
			}
		}
		if o := e.s.Proxy.LeaveOut; leftOut != p.leftOut || o != nil && leftOut > o.most(len(p.hosts)) {
			e.fail("client %d counts %d of %d replicas left out, and has %d", p.id, p.leftOut, len(p.hosts), leftOut)
		}
		if active != p.active || p.retrying < 0 || p.retrying > p.active+e.liveCalls {
			e.fail("proxy %d counts %d in flight and %d retries, and has %d", p.id, p.active, p.retrying, active)
		}
		if ejected != p.ejected {
			e.fail("proxy %d counts %d hosts ejected, and has %d", p.id, p.ejected, ejected)
		}
	}
}

// checkRequests counts the requests of each gate anew.
func (e *engine) checkRequests() {
	type count struct{ door, client, doorWaits, clientWaits int }
	counts := make(map[*replica]count)
	atUpstream := 0
	for i := range e.requests {
		r := &e.requests[i]
		c := counts[r.replica]
		switch r.stage {
		case free:
			continue
		case entering:
			e.fail("request %d rests between two stages", i)
		case inDoor:
			c.doorWaits++
		case inQueue:
			c.clientWaits++
		case out:
			c.client++
			atUpstream++
		}
		if r.door {
			c.door++
		}
		counts[r.replica] = c
	}
	if atUpstream != e.upstreamInFlight {
		e.fail("%d requests are counted at the upstream, and %d are", e.upstreamInFlight, atUpstream)
	}
	for _, rep := range e.replicas {
		c := counts[rep]
		e.checkGate(rep, "door", &rep.door, c.door, c.doorWaits)
		e.checkGate(rep, "client", &rep.client, c.client, c.clientWaits)
	}
}

func (e *engine) checkGate(rep *replica, name string, g *gate, used, waiting int) {
	if g.used != used || g.waiting != waiting {
		e.fail("the %s of replica %d counts %d used and %d waiting, and has %d and %d", name, rep.id+1, g.used, g.waiting, used, waiting)
	}
	if g.places > 0 && g.used > g.places && !g.over {
		e.fail("the %s of replica %d has %d places and %d used", name, rep.id+1, g.places, g.used)
	}
	if g.waiting > 0 && !g.closed && (g.places == 0 || g.used < g.places) {
		e.fail("the %s of replica %d lets %d wait beside free places", name, rep.id+1, g.waiting)
	}
}
