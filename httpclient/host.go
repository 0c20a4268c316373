package httpclient

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/offtake-go/offtake"
)

// host is the connections of HTTP/2 to one host, and the calls that wait for a
// stream on one of them. Few do: the gate lets in no more than there are streams,
// unless the upstream allows fewer than planned.
type host struct {
	streams       *streams
	name, address string

	mu      sync.Mutex
	conns   []*shared // never changed in place, so that it may be read without the lock
	waiting []*streamWaiter
	dialing int
	closed  bool
}

type streamWaiter struct {
	ready chan error // nil: look again
}

var errClosedDialer = &dialError{0, offtake.ErrClosed}

// acquire reserves a stream, and says whether it had to wait for it. Those that
// wait are served in turn.
func (h *host) acquire(ctx context.Context) (c *shared, waited bool, err error) {
	if c := h.pick(nil); c != nil {
		return c, false, nil
	}
	w := &streamWaiter{ready: make(chan error, 1)}
	if err := h.join(w); err != nil {
		return nil, true, err
	}
	defer h.leave(w)
	for {
		if c := h.pick(w); c != nil {
			return c, true, nil
		}
		h.dialIfDue(ctx)
		select {
		case err := <-w.ready:
			if err != nil {
				return nil, true, err
			}
		case <-ctx.Done():
			return nil, true, context.Cause(ctx)
		}
	}
}

// pick reserves a stream. Nobody may pass those that wait: w is the caller's
// place among them.
func (h *host) pick(w *streamWaiter) *shared {
	most, _ := h.streams.core.sharing()
	for {
		c := h.freest(w)
		switch {
		case c == nil:
			return nil
		case c.take(most):
			return c
		case !c.leaving.Load():
			return nil
		}
	}
}

// freest is the connection with the fewest streams in flight. Those that are no
// longer fit for use are retired on the way.
func (h *host) freest(w *streamWaiter) *shared {
	h.mu.Lock()
	conns, passes := h.conns, len(h.waiting) > 0 && h.waiting[0] != w
	h.mu.Unlock()
	if passes {
		return nil
	}
	now := time.Now()
	var best *shared
	for _, c := range conns {
		if !c.fit(now) {
			c.retire()
		} else if best == nil || c.InFlight() < best.InFlight() {
			best = c
		}
	}
	return best
}

func (h *host) join(w *streamWaiter) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosedDialer
	}
	h.waiting = append(h.waiting, w)
	return nil
}

// leave lets the next one look: what freed one stream may have freed more.
func (h *host) leave(w *streamWaiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.waiting, w); i >= 0 {
		h.waiting = slices.Delete(h.waiting, i, i+1)
	}
	h.wakeLocked()
}

func (h *host) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wakeLocked()
}

func (h *host) wakeLocked() {
	if len(h.waiting) > 0 {
		h.waiting[0].look()
	}
}

// look has a waiter look again, unless it was told already that it is in vain.
func (w *streamWaiter) look() {
	select {
	case w.ready <- nil:
	default:
	}
}

// fail ends the wait. The host's mutex is held, so that nobody else tells the
// waiter anything meanwhile.
func (w *streamWaiter) fail(err error) {
	select {
	case <-w.ready:
	default:
	}
	w.ready <- err
}

// dialIfDue opens another connection if those that are on their way are not
// enough for those that wait. The dial goes on if its caller gives up: somebody
// else will need it.
func (h *host) dialIfDue(ctx context.Context) {
	each, conns := h.streams.core.sharing()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.conns)+h.dialing >= conns || len(h.waiting) <= h.dialing*each {
		return
	}
	h.dialing++
	h.streams.work.Go(func() { h.dial(context.WithValue(context.WithoutCancel(ctx), attemptKey{}, nil)) })
}

func (h *host) dial(ctx context.Context) {
	_, err := h.connect(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dialing--
	if err == nil {
		h.wakeLocked()
		return
	}
	if err != errPlain && (len(h.conns) > 0 || h.dialing > 0) {
		return // what stands will serve all in turn
	}
	for _, w := range h.waiting {
		w.fail(err)
	}
}

// add keeps a connection, and says whether it did.
func (h *host) add(c *shared) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.conns = append(slices.Clip(h.conns), c)
	h.wakeLocked()
	return true
}

func (h *host) remove(c *shared) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.conns, c); i >= 0 {
		h.conns = slices.Delete(slices.Clone(h.conns), i, i+1)
	}
}

func (h *host) list() []*shared {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.conns
}

func (h *host) closeIdle() {
	for _, c := range h.list() {
		if c.InFlight() == 0 {
			c.retire()
		}
	}
}

func (h *host) close() {
	h.mu.Lock()
	h.closed = true
	for _, w := range h.waiting {
		w.fail(errClosedDialer)
	}
	h.mu.Unlock()
	for _, c := range h.list() {
		c.retire()
	}
}
