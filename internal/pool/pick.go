package pool

import (
	"time"

	"github.com/offtake-go/offtake/internal/endpoint"
)

// pickFor reserves room on a connection that stands, if there is some for this
// call, and says whether it did.
func (p *Pool) pickFor(h *host, w *waiter, want *Want, l *Lease) bool {
	for {
		now := time.Now()
		p.mu.Lock()
		c, stale := h.pickLocked(now, w, want)
		if c != nil {
			c.taking.Store(!c.shared)
			l.beginLocked(c, now)
		}
		p.unlock()
		closeAll(stale)
		switch {
		case c == nil:
			return false
		case c.shared:
			if !c.take(now) {
				l.Done(now)
				if c.leaving.Load() {
					p.retire(c, true)
					continue // the others may have room
				}
				return false
			}
		default:
			fresh := !c.proven.Load()
			if c.cc.Err() != nil || c.wire.gone(fresh) {
				l.Done(now)
				p.drop(c)
				continue
			}
		}
		return true
	}
}

// pickLocked is the connection for a call, already taken off the idle ones, and
// those that are not to be used any more. Nobody may pass those that wait: w is
// the caller's place among them.
func (h *host) pickLocked(now time.Time, w *waiter, want *Want) (c *Conn, stale []*Conn) {
	if h.pool.closed || len(h.waiting) > 0 && h.waiting[0] != w {
		return nil, nil
	}
	from := h.scratch[:0]
	may := h.canDialLocked(w)
	for _, at := range h.points {
		stale = at.pruneLocked(now, stale)
		if at.roomLocked(want, may) {
			from = append(from, at.endpoint)
		}
	}
	h.scratch = from
	var avoid *endpoint.Endpoint
	if want.Avoid != nil && want.Avoid.host == h {
		avoid = want.Avoid.point.endpoint
	}
	var e *endpoint.Endpoint
	if may {
		e = h.set.Choose(now, from, avoid)
	} else {
		e = h.set.Pick(now, from, avoid)
	}
	for _, at := range h.points {
		if e != nil && at.endpoint == e {
			return at.takeLocked(now, want), stale
		}
	}
	return nil, stale
}

// canDialLocked says whether it is any use to wait for a better endpoint: not after
// a dial has failed.
func (h *host) canDialLocked(w *waiter) bool { return w == nil || w.failed == 0 }

// pruneLocked takes off what has been unused for too long.
func (at *point) pruneLocked(now time.Time, stale []*Conn) []*Conn {
	for len(at.idle) > 0 {
		c := at.idle[0] // unused for longest
		if now.Sub(c.since) < c.keep || c.heir {
			break
		}
		c.host.pool.removeLocked(c, true)
		stale = append(stale, c)
	}
	return stale
}

// roomLocked says whether one of the connections may take a call. One that is
// suspect is better replaced, if it can be.
func (at *point) roomLocked(want *Want, dial bool) bool {
	for _, c := range at.idle {
		if !c.suspect || !dial {
			return true
		}
	}
	if want.HTTP1 {
		return false
	}
	for _, c := range at.conns {
		if c.shared && c.fit() {
			return true
		}
	}
	return false
}

// takeLocked is the best connection of an endpoint: of HTTP/1.1 the one used last
// that has not just failed, of HTTP/2 the one with the fewest streams.
func (at *point) takeLocked(now time.Time, want *Want) *Conn {
	if !want.HTTP1 {
		var best *Conn
		for _, c := range at.conns {
			if c.shared && c.fit() && (best == nil || c.betterThan(best, want.Avoid)) {
				best = c
			}
		}
		if best != nil {
			best.ageLocked(now)
			return best
		}
	}
	last := len(at.idle) - 1
	best := last
	for i := last; i >= 0; i-- {
		if c := at.idle[i]; c.streak == 0 && !c.suspect && c != want.Avoid {
			best = i
			break
		}
	}
	c := at.idle[best]
	copy(at.idle[best:], at.idle[best+1:])
	at.idle[last] = nil
	at.idle = at.idle[:last]
	c.idle = false
	c.ageLocked(now)
	return c
}

func (c *Conn) betterThan(other, avoid *Conn) bool {
	if (c == avoid) != (other == avoid) {
		return other == avoid
	}
	if c.streak > 0 != (other.streak > 0) {
		return other.streak > 0
	}
	return c.cc.InFlight() < other.cc.InFlight()
}
