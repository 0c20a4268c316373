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
	taking  atomic.Bool // taken off the idle ones, and not reserved yet
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
	retired bool
	removed bool
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
	case c.removed && (!c.retired || c.cc.InFlight() > 0):
	case c.removed:
		over = true
	case c.cc.Err() != nil:
		p.removeLocked(c)
	case c.shared:
		if c.cc.InFlight() == 0 {
			c.since = time.Now()
			over = p.elsewhereLocked(c)
		}
	case !c.idle && !c.taking.Load() && c.cc.Available() > 0:
		over = p.putLocked(c)
	}
	c.host.wakeLocked()
	p.unlock()
	if over {
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
	p.removeLocked(c)
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

// removeLocked makes the connection none of the pool's. Its slot is free.
func (p *Pool) removeLocked(c *Conn) {
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
	if !c.retired {
		p.keeper.lost()
	}
}

// retireLocked keeps new exchanges off the connection, which closes after its last.
func (p *Pool) retireLocked(c *Conn) {
	c.retired = true
	p.removeLocked(c)
}

// retire is for a connection that need not be there any more.
func (p *Pool) retire(c *Conn) {
	p.mu.Lock()
	p.retireLocked(c)
	p.unlock()
	if c.cc.InFlight() == 0 {
		c.cc.Close()
	}
}

// drop closes a connection at once.
func (p *Pool) drop(c *Conn) {
	p.mu.Lock()
	p.removeLocked(c)
	p.unlock()
	c.cc.Close()
}

func without(conns []*Conn, c *Conn) []*Conn {
	if i := slices.Index(conns, c); i >= 0 {
		return slices.Delete(conns, i, i+1)
	}
	return conns
}

// unusedLocked says whether the connection carries nothing.
func (c *Conn) unusedLocked() bool {
	return c.idle || c.shared && !c.taking.Load() && c.cc.InFlight() == 0
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
		resp, err := c.cc.RoundTrip(req.WithContext(ctx))
		done <- result{resp, err}
	}()
	select {
	case r := <-done:
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
		if r := <-done; r.err == nil {
			c.finish(r.resp)
		}
	}
	c.pool.mu.Lock()
	adopted := c.pool.startLocked(abandoned)
	c.pool.mu.Unlock()
	if !adopted {
		cancel()
		<-done
	}
	return nil, context.Cause(caller)
}

func (p *Pool) attempt() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sizes.Attempt
}
