package pool

import "time"

// ageLocked has a successor made for a connection that is old, or has been unused
// for so long that it is about to be closed while it is kept warm. It stays in use
// until that stands: what works is kept while nothing better can be had.
func (c *Conn) ageLocked(now time.Time) {
	p := c.pool
	due, ok := c.replaceLocked()
	if !ok || now.Before(due) || len(p.conns)+p.dialing >= p.limitLocked() && p.heirLocked() {
		return // one more than planned at the most, for an instant
	}
	only1 := !c.shared && p.maker2 != nil && !p.plain.Load()
	if c.host.reserveLocked(func() { c.succeed(only1) }) {
		c.heir = true
	}
}

// replaceLocked is when a successor is wanted, if at all.
func (c *Conn) replaceLocked() (due time.Time, ok bool) {
	if c.heir || c.removed {
		return time.Time{}, false
	}
	due, ok = c.retire, true
	if least := c.born.Add(leastUnused); !c.proven.Load() && due.Before(least) {
		due = least // or connections that age faster than calls come would be dialed without end
	}
	if c.unusedLocked() && c.host.conns <= c.host.pool.keeper.keepsLocked(c.host) {
		if soon := c.since.Add(c.keep * 4 / 5); soon.Before(due) {
			due = soon
		}
	}
	if c.tried.After(due) {
		due = c.tried
	}
	return due, ok
}

// succeed replaces the connection.
func (c *Conn) succeed(only1 bool) {
	p := c.pool
	heir, err := c.host.make(p.life, only1, false)
	if err == nil {
		err = p.prove(p.life, heir)
	}
	if err == nil {
		p.retire(c, false)
		p.look() // there may be others
		return
	}
	p.mu.Lock()
	defer p.unlock()
	c.heir = false
	c.heirs++
	c.tried = time.Now().Add(min(time.Second<<min(c.heirs-1, 5), p.options.MaxAge))
}

// tickLocked sets the timer for what is next to be done: to close what is unused,
// and to replace what is old.
func (p *Pool) tickLocked(now time.Time) {
	if p.closed || len(p.conns) == 0 {
		return
	}
	wait := p.options.Idle
	for c := range p.conns {
		if due, ok := c.replaceLocked(); ok {
			wait = min(wait, due.Sub(now))
		}
		if c.unusedLocked() && !c.heir {
			wait = min(wait, c.since.Add(c.keep).Sub(now))
		}
	}
	wait = max(wait, leastTick)
	if p.tick == nil {
		p.tick = time.AfterFunc(wait, p.look)
	} else {
		p.tick.Reset(wait)
	}
}

// leastUnused is the age below which a connection is not replaced that nobody has
// used yet.
const leastUnused = time.Second

// leastTick is the least time between two looks.
const leastTick = 10 * time.Millisecond

// look runs on the timer's goroutine.
func (p *Pool) look() {
	now := time.Now()
	p.mu.Lock()
	var over []*Conn
	for c := range p.conns {
		c.ageLocked(now)
		if c.unusedLocked() && !c.heir && now.Sub(c.since) >= c.keep {
			p.removeLocked(c, true)
			over = append(over, c)
		}
	}
	p.tickLocked(now)
	p.unlock()
	closeAll(over)
}
