package httpclient

import (
	"context"
	"net"
)

// awaitSlot waits for another connection to close, or for one that is ready. It
// is tempting to call it an error that there is none free: a place is a
// connection, after all. But several hosts share the connections of an upstream,
// a connection closes an instant after the end of its last body, and one that is
// opened to keep the client warm has its slot already.
func (d *dialer) awaitSlot(ctx context.Context, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		a.whenServed(cancel)
	}
	d.want(address, 1)
	defer d.want(address, -1)
	w := &wish{address: address, granted: cancel}
	if ready := d.stash.await(w); ready != nil {
		return ready, nil
	}
	d.stash.dropOthers(address)
	d.makeRoom()
	_, err := d.slots.Enter(ctx)
	ready := d.stash.forget(w)
	if ready != nil && err == nil {
		d.slots.Leave() // it has one of its own
	}
	if ready != nil {
		return ready, nil
	}
	return nil, err
}

func (d *dialer) want(address string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanting.Add(int32(n))
	d.wants[address] += n // of a handful of hosts, or a proxy
}

// wantedElsewhere says whether a dial to another address waits for a slot.
func (d *dialer) wantedElsewhere(address string) bool {
	if d.wanting.Load() == 0 {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for other, n := range d.wants {
		if n > 0 && other != address {
			return true
		}
	}
	return false
}

// attemptKey finds the attempt that a dial was started for.
type attemptKey struct{}

// whenServed has forget called once the attempt has a connection or is over. The
// transport goes on with a dial whose request has found another connection; but
// while it only waits, it must not stand before one that somebody needs.
func (a *attempt) whenServed(forget func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase == ended {
		forget()
		return
	}
	a.dials = append(a.dials, forget)
}

// servedLocked ends the dials of an attempt that only wait.
func (a *attempt) servedLocked() {
	for _, forget := range a.dials {
		forget()
	}
	a.dials = nil
}

// makeRoom closes unused connections to the other hosts of the upstream, which
// have slots that a call for this host waits for. It is tempting to close just
// one. But only the transport knows which are unused, and it closes all.
func (d *dialer) makeRoom() {
	if len(d.core.target.hosts) > 1 {
		d.core.CloseIdleConnections()
	}
}

// CloseIdleConnections is what http.Client's method of that name calls.
func (c *core) CloseIdleConnections() {
	c.transport.CloseIdleConnections()
	if c.streams != nil {
		c.streams.CloseIdleConnections()
	}
}
