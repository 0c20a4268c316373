package pool

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is one connection, whatever it speaks.
//
// No lock that its state hook takes may be held around Reserve, Release, RoundTrip
// or Close of its ClientConn: they may run the hook themselves
// (golang.org/issue/80680).
type Conn struct {
	cc      *http.ClientConn
	wire    *wire
	pool    *Pool
	host    *host
	point   *point
	shared  bool // HTTP/2
	born    time.Time
	settled time.Time // HTTP/2: when the upstream's settings are taken to be there

	proven  atomic.Bool // has answered
	taking  atomic.Bool // HTTP/1.1: taken off the idle ones, until RoundTrip has returned
	limit   atomic.Int64
	leaving atomic.Bool // the upstream has sent GOAWAY
	choice  sync.Mutex  // around a reservation of a stream; see take

	// The pool's mutex guards what follows.
	idle    bool          // of HTTP/1.1, and in its point's list
	since   time.Time     // idle since
	keep    time.Duration // how long it may be idle
	retire  time.Time     // a successor is wanted then
	heir    bool          // and on its way
	heirs   int           // that did not come about
	tried   time.Time     // no other before
	removed bool
	leases  int  // exchanges, as their owner has it: net/http's HTTP/2 frees streams later
	streak  int  // failures in a row
	suspect bool // others that were idle as long turned out to be dead
}

// changed is called by the connection when it has room again, or ends. It may run
// inside of any method of the connection.
func (c *Conn) changed() {
	p := c.pool
	p.mu.Lock()
	var over bool
	switch {
	case c.removed:
		over = true
	case c.cc.Err() != nil:
		p.removeLocked(c, true)
	case c.shared:
		over = c.unusedLocked() && p.elsewhereLocked(c)
	case !c.idle && !c.taking.Load() && c.cc.Available() > 0:
		over = p.putLocked(c)
	}
	c.host.wakeLocked()
	p.unlock()
	if over {
		c.closeUnused()
	}
}

// closeUnused closes a connection that is none of the pool's any more, after its
// last exchange: if there is one now, its end calls here again.
func (c *Conn) closeUnused() {
	if !c.choice.TryLock() { // somebody reserves a stream, and uses it
		return
	}
	defer c.choice.Unlock()
	if !c.taking.Load() && c.cc.InFlight() == 0 && c.cc.Err() == nil {
		c.cc.Close()
	}
}

// putLocked has a connection of HTTP/1.1 wait for its next exchange, unless it is
// to be closed.
func (p *Pool) putLocked(c *Conn) (over bool) {
	if p.elsewhereLocked(c) {
		return true
	}
	c.idle, c.since = true, time.Now()
	c.point.idle = append(c.point.idle, c)
	return false
}

// elsewhereLocked takes an unused connection off if nobody needs it here while
// somebody elsewhere waits for its slot, or if there are more than there may be.
func (p *Pool) elsewhereLocked(c *Conn) bool {
	needed := len(c.host.waiting) > 0 || p.starving == 0
	if needed && len(p.conns)+p.dialing <= p.limitLocked() {
		return false
	}
	if needed && p.heirLocked() {
		return false // its predecessor is about to go
	}
	p.removeLocked(c, true)
	return true
}

func (p *Pool) heirLocked() bool {
	for c := range p.conns {
		if c.heir {
			return true
		}
	}
	return false
}

// removeLocked makes the connection none of the pool's: its slot is free, and it is
// for the caller to close it if it is unused. Lost says that nothing has taken its
// place.
func (p *Pool) removeLocked(c *Conn, lost bool) {
	if c.removed {
		return
	}
	c.removed = true
	delete(p.conns, c)
	h, at := c.host, c.point
	h.conns--
	at.conns = without(at.conns, c)
	if c.idle {
		c.idle = false
		at.idle = without(at.idle, c)
	}
	if p.starving > 0 {
		for _, other := range p.hosts {
			other.wakeLocked()
		}
	}
	h.wakeLocked()
	if lost {
		p.keeper.lost()
	}
}

// retire keeps new exchanges off a connection, which closes after its last.
func (p *Pool) retire(c *Conn, lost bool) {
	p.mu.Lock()
	p.removeLocked(c, lost)
	p.unlock()
	c.closeUnused()
}

// drop closes a connection at once.
func (p *Pool) drop(c *Conn) {
	p.mu.Lock()
	p.removeLocked(c, true)
	p.unlock()
	c.cc.Close()
}

func without(conns []*Conn, c *Conn) []*Conn {
	if i := slices.Index(conns, c); i >= 0 {
		return slices.Delete(conns, i, i+1)
	}
	return conns
}

// sent is called when RoundTrip has returned on a connection of HTTP/1.1. It is
// tempting to reserve the connection instead, and leave the rest to the state hook:
// but that has it closed, if it is to be, by the goroutine that is about to hand
// the response over, and the response is lost. It also costs an allocation.
func (c *Conn) sent() {
	c.taking.Store(false)
	if c.cc.Available() > 0 {
		c.changed()
	}
}

func (c *Conn) exchange(req *http.Request) (*http.Response, error) {
	defer c.sent() // even if a trace panics
	return c.cc.RoundTrip(req)
}

// unusedLocked says whether the connection carries nothing.
func (c *Conn) unusedLocked() bool {
	return c.idle || c.shared && !c.taking.Load() && c.leases == 0
}

// first sends the first request on a connection. If the caller goes away, the
// exchange runs to its end all the same, within the time of an attempt: where the
// first exchange of each connection takes longer than callers wait, they would
// otherwise close every connection that they open, and none would ever stand.
func (c *Conn) first(req *http.Request) (*http.Response, error) {
	type result struct {
		resp *http.Response
		err  error
	}
	caller := req.Context()
	ctx, cancel := context.WithCancel(context.WithoutCancel(caller))
	done := make(chan result, 1)
	began := time.Now()
	go func() {
		resp, err := c.cc.RoundTrip(req.WithContext(ctx)) //nolint:bodyclose // whoever takes it does
		done <- result{resp, err}
	}()
	select {
	case r := <-done:
		c.sent()
		if r.err != nil {
			cancel()
			return nil, r.err
		}
		context.AfterFunc(caller, cancel)
		return r.resp, nil
	case <-caller.Done():
	}
	abandoned := func() {
		defer cancel()
		left := time.AfterFunc(time.Until(began.Add(c.pool.attempt())), cancel)
		defer left.Stop()
		defer context.AfterFunc(c.pool.life, cancel)()
		r := <-done
		c.sent()
		if r.err == nil {
			c.finish(r.resp)
		}
	}
	c.pool.mu.Lock()
	adopted := c.pool.startLocked(abandoned)
	c.pool.mu.Unlock()
	if !adopted {
		cancel()
		<-done
		c.sent()
	}
	return nil, context.Cause(caller)
}

func (p *Pool) attempt() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sizes.Attempt
}
