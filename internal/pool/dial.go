package pool

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"time"
)

// Phase is how far a dial came.
type Phase uint8

// The phases.
const (
	Connect Phase = iota // no connection
	DNS                  // no address
	TLS                  // no handshake
)

// DialError is a connection that did not come about.
type DialError struct {
	Phase Phase
	Err   error
}

func (e *DialError) Error() string { return e.Err.Error() }
func (e *DialError) Unwrap() error { return e.Err }

func asDialError(phase Phase, err error) *DialError {
	if known, ok := errors.AsType[*DialError](err); ok {
		phase = known.Phase // the rest may say more: that it was a proxy
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		phase = DNS
	}
	if known, ok := err.(*DialError); ok { //nolint:errorlint // the outermost is meant
		return known
	}
	return &DialError{phase, err}
}

// Stage says what the dials under way are at, for a call that waited for one in
// vain.
func (p *Pool) Stage() Phase {
	switch {
	case p.looking.Load() > 0:
		return DNS
	case p.shaking.Load() > 0:
		return TLS
	}
	return Connect
}

// dialIfDue opens another connection if those that are on their way are not
// enough for those that wait. The dial goes on if its caller gives up: somebody
// else will need it.
func (h *host) dialIfDue(ctx context.Context, w *waiter) {
	p := h.pool
	p.mu.Lock()
	var room *Conn
	if len(h.waiting) > h.dialing*h.eachLocked() {
		if len(p.conns)+p.dialing >= p.limitLocked() {
			room = h.makeRoomLocked()
		}
		if len(p.conns)+p.dialing < p.limitLocked() {
			trace := context.WithoutCancel(ctx)
			only1 := w.want.HTTP1
			h.reserveLocked(func() { h.dial(trace, only1) })
		}
		h.hungryLocked(h.dialing == 0)
	}
	p.unlock()
	if room != nil {
		room.closeUnused()
	}
}

// makeRoomLocked takes an unused connection off that is worth less than one that
// is new: to another host, to an endpoint that is left out, of the other protocol,
// or one that is suspect.
func (h *host) makeRoomLocked() *Conn {
	now := time.Now()
	for _, c := range h.pool.unusedLocked() {
		if c.host != h && len(c.host.waiting) == 0 || c.host == h && (c.suspect || h.set.LeftOut(now, c.point.endpoint) || h.waiting[0].want.HTTP1 && c.shared) {
			h.pool.removeLocked(c, true)
			return c
		}
	}
	return nil
}

// reserveLocked takes a slot for a connection, and starts making it.
func (h *host) reserveLocked(dial func()) bool {
	if !h.pool.startLocked(dial) {
		return false
	}
	h.dialing++
	h.pool.dialing++
	return true
}

// dial makes a connection for those that wait.
func (h *host) dial(ctx context.Context, only1 bool) {
	p := h.pool
	c, err := h.make(ctx, only1, true)
	if c != nil {
		c.wake()
		return
	}
	p.mu.Lock()
	defer p.unlock()
	if err == nil || len(h.waiting) == 0 {
		return
	}
	if h.conns == 0 && h.dialing == 0 {
		h.failLocked(err)
		return
	}
	told := h.conns == 0 // by those that are still under way
	for _, w := range h.waiting {
		if w.failed++; h.conns > 0 && w.failed > 1 {
			w.fail(err)
			told = true
		}
	}
	if !told { // what stands may serve all in turn; but it may also take long
		pause := time.AfterFunc(redialPause, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			h.wakeLocked()
		})
		context.AfterFunc(p.life, func() { pause.Stop() })
	}
}

// redialPause is between a failed dial and the next for the same call, while other
// connections stand.
const redialPause = 100 * time.Millisecond

// make makes one connection, whose slot was reserved. It waits for its turn first;
// neither a connection nor an error says that it is no longer needed.
func (h *host) make(ctx context.Context, only1, forCalls bool) (*Conn, error) {
	p := h.pool
	arrived := time.Now()
	turn, added := p.awaitTurn(), false
	defer func() {
		p.mu.Lock()
		if !added {
			h.unreserveLocked()
		}
		if turn {
			p.turnLocked()
		}
		p.unlock()
	}()
	if !turn {
		return nil, ErrClosed
	}
	if needed, err := h.stillNeeded(arrived, forCalls); !needed {
		return nil, err
	}
	began := time.Now()
	c, err := h.connect(ctx, only1)
	if err != nil {
		failed := asDialError(Connect, err)
		p.mu.Lock()
		h.failures++
		h.failedAt, h.failure = time.Now(), failed
		p.unlock()
		p.options.Events.Dialed(time.Since(began), failed)
		return nil, failed
	}
	p.options.Events.Dialed(time.Since(began), nil)
	if added = h.add(c, forCalls); !added {
		c.cc.Close()
		return nil, ErrClosed
	}
	return c, nil
}

func (h *host) unreserveLocked() {
	h.dialing--
	h.pool.dialing--
}

// stillNeeded says whether a dial whose turn has come is to be made. If meanwhile
// another has failed and nothing stands, it fails alike: those that wait would only
// find out one after the other what is known already.
func (h *host) stillNeeded(arrived time.Time, forCalls bool) (bool, error) {
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.conns == 0 && h.failedAt.After(arrived) {
		return false, h.failure
	}
	return !forCalls || len(h.waiting) > 0, nil
}

// awaitTurn waits until few enough dials are under way.
func (p *Pool) awaitTurn() bool {
	p.mu.Lock()
	if p.turns < dialsAtOnce {
		p.turns++
		p.mu.Unlock()
		return true
	}
	turn := make(chan struct{})
	p.queue = append(p.queue, turn)
	p.mu.Unlock()
	select {
	case <-turn:
		return true
	case <-p.life.Done():
		return false
	}
}

func (p *Pool) turnLocked() {
	if len(p.queue) > 0 {
		close(p.queue[0])
		p.queue = p.queue[1:]
		return
	}
	p.turns--
}

// connect makes a connection, all it takes within one bound.
func (h *host) connect(ctx context.Context, only1 bool) (*Conn, error) {
	p := h.pool
	ctx, cancel := context.WithTimeout(ctx, p.options.Longest)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	maker := p.maker2
	if maker == nil || only1 || p.plain.Load() {
		maker = p.maker1
	}
	began, made := time.Now(), &making{host: h, shared: maker == p.maker2}
	ctx = context.WithValue(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: made.handshake, TLSHandshakeDone: made.handshakeDone,
	}), makingKey{}, made)
	cc, err := maker.NewClientConn(ctx, p.options.Scheme, h.address)
	if err != nil {
		return nil, made.explain(err)
	}
	now := time.Now()
	c := &Conn{cc: cc, wire: made.wire, pool: p, host: h, born: now, since: now, keep: p.options.Idle}
	c.shared = maker == p.maker2 && (p.options.Scheme == "http" || made.protocol == "h2")
	if maker == p.maker2 && !c.shared {
		if err := p.turnedDown(); err != nil {
			cc.Close()
			return nil, err
		}
	}
	c.wire.shared.Store(c.shared)
	c.settled = now.Add(settle(now.Sub(began)))
	age := p.options.MaxAge
	c.retire = now.Add(age - age/10 + rand.N(age/5+1)) // so that those opened together do not close together
	return c, nil
}

// turnedDown is what follows when an upstream has chosen HTTP/1.1.
func (p *Pool) turnedDown() error {
	if !p.options.Protocols.HTTP1() {
		return &DialError{TLS, errors.New("httpclient: the upstream speaks no HTTP/2, and Options.Protocols nothing else")}
	}
	if p.plain.CompareAndSwap(false, true) {
		p.options.Events.TurnedDown()
	}
	return nil
}

// add keeps a connection, and says whether it did.
func (h *host) add(c *Conn, ready bool) bool {
	p := h.pool
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return false
	}
	h.failures = 0
	h.unreserveLocked() // its slot is that of the connection now
	p.conns[c] = struct{}{}
	h.conns++
	c.point = h.pointLocked(c.wire.endpoint)
	c.point.conns = append(c.point.conns, c)
	c.taking.Store(true)
	if h.keep > 0 {
		c.keep = h.keep
	}
	p.tickLocked(time.Now())
	p.unlock()
	c.cc.SetStateHook(func(*http.ClientConn) { c.changed() })
	if ready {
		c.free()
	}
	if c.shared {
		time.AfterFunc(time.Until(c.settled), c.wake)
	}
	return true
}

// free has calls use a new connection.
func (c *Conn) free() {
	c.taking.Store(false)
	c.changed()
}

func (c *Conn) wake() {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	c.host.wakeLocked()
}
