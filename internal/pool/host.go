package pool

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/offtake-go/offtake/internal/endpoint"
)

// host is the connections to one name, by endpoint, and the calls that wait for
// one of them. The pool's mutex guards it.
type host struct {
	pool          *Pool
	name, address string

	set      *endpoint.Set
	points   []*point // one for each member of the set, and for those that still have connections
	conns    int
	waiting  []*waiter
	dialing  int
	hungry   bool          // waits for a slot
	keep     time.Duration // how long the server keeps an unused connection; 0 if it has not said
	failures int           // dials in a row
	failedAt time.Time
	failure  error
	last     []netip.AddrPort // what the name was last known to be
	until    time.Time        // no need to ask again
	recycled time.Time        // when a connection was last closed for its failures
	scratch  []*endpoint.Endpoint
}

// point is one endpoint and its connections.
type point struct {
	endpoint *endpoint.Endpoint
	conns    []*Conn // all
	dialing  int     // dials that try it first
	idle     []*Conn // of HTTP/1.1, the one used last at the end
}

// waiter is a call without a connection.
type waiter struct {
	want   Want
	ready  chan error // nil: look again
	failed int        // dials, since it waits
}

func newHost(p *Pool, name string) *host {
	h := &host{pool: p, name: name, address: p.options.Address(name)}
	h.set = endpoint.NewSet(endpoint.Options{Attempt: p.sizes.Attempt, Notify: func(c endpoint.Change) {
		p.changes = append(p.changes, c) // the set is used with the pool's mutex held
	}})
	return h
}

// pointLocked is where connections to an address belong.
func (h *host) pointLocked(name string) *point {
	for _, at := range h.points {
		if at.endpoint.Name() == name {
			return at
		}
	}
	names := []string{name}
	for _, at := range h.points {
		names = append(names, at.endpoint.Name())
	}
	h.membersLocked(names)
	return h.pointLocked(name)
}

// membersLocked replaces the endpoints. Those with connections stay for as long as
// these do.
func (h *host) membersLocked(names []string) {
	for _, at := range h.points {
		if len(at.conns) > 0 && !slices.Contains(names, at.endpoint.Name()) {
			names = append(names, at.endpoint.Name())
		}
	}
	old := h.points
	h.points = nil
	for _, e := range h.set.Update(time.Now(), names) {
		i := slices.IndexFunc(old, func(at *point) bool { return at.endpoint == e })
		if i >= 0 {
			h.points = append(h.points, old[i])
		} else {
			h.points = append(h.points, &point{endpoint: e})
		}
	}
}

// each is how many calls a connection that is dialed now will serve.
func (h *host) eachLocked() int {
	if h.pool.Plain() {
		return 1
	}
	return max(1, h.pool.sizes.Streams)
}

func (h *host) wakeLocked() {
	if len(h.waiting) > 0 {
		h.waiting[0].look()
	}
}

// failLocked ends all waits.
func (h *host) failLocked(err error) {
	for _, w := range h.waiting {
		w.fail(err)
	}
}

// look has a waiter look again, unless it was told already that it is in vain.
func (w *waiter) look() {
	select {
	case w.ready <- nil:
	default:
	}
}

// fail ends the wait. The pool's mutex is held, so that nobody else tells the
// waiter anything meanwhile.
func (w *waiter) fail(err error) {
	select {
	case <-w.ready:
	default:
	}
	w.ready <- err
}

// Want is what a call asks of its connection.
type Want struct {
	HTTP1 bool  // it is to be upgraded, which HTTP/2 can't
	Avoid *Conn // where an earlier attempt has failed
}

// Acquire reserves room for one exchange on a connection to a host, and says
// whether it had to wait for it. Those that wait are served in turn. The lease must
// be given back by exactly one [Lease.RoundTrip] or [Lease.Release].
func (p *Pool) Acquire(ctx context.Context, name string, want Want, l *Lease) (waited bool, err error) {
	h := p.hosts[name]
	if p.pickFor(h, nil, &want, l) {
		return false, nil
	}
	w := &waiter{want: want, ready: make(chan error, 1)}
	if err := h.join(ctx, w); err != nil {
		return true, err
	}
	defer h.leave(w)
	for {
		if p.pickFor(h, w, &want, l) {
			return true, nil
		}
		h.dialIfDue(ctx, w)
		select {
		case err := <-w.ready:
			if err != nil {
				return true, err
			}
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
	}
}

func (h *host) join(_ context.Context, w *waiter) error {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if h.pool.closed {
		return ErrClosed
	}
	h.waiting = append(h.waiting, w)
	return nil
}

// leave lets the next one look: what freed one stream may have freed more.
func (h *host) leave(w *waiter) {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if i := slices.Index(h.waiting, w); i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
	}
	if len(h.waiting) == 0 {
		h.hungryLocked(false)
	}
	h.wakeLocked()
}

func (h *host) hungryLocked(yes bool) {
	if h.hungry == yes {
		return
	}
	h.hungry = yes
	if yes {
		h.pool.starving++
	} else {
		h.pool.starving--
	}
}
