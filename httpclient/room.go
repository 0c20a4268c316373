package httpclient

import "context"

// awaitSlot waits for another connection to close. It is tempting to call it an
// error that there is none free: a place is a connection, after all. But several
// hosts share the connections of an upstream, and a connection closes an instant
// after the end of its last body.
func (d *dialer) awaitSlot(ctx context.Context, address string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		a.wish(cancel)
	}
	d.wanting.Add(1)
	defer d.wanting.Add(-1)
	d.stash.dropOthers(address)
	d.makeRoom()
	_, err := d.slots.Enter(ctx)
	return err
}

// attemptKey finds the attempt that a dial was started for.
type attemptKey struct{}

// wish has forget called once the attempt has a connection or is over. The
// transport goes on with a dial whose request has found another connection; but
// while it only waits, it must not stand before one that somebody needs.
func (a *attempt) wish(forget func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase == ended {
		forget()
		return
	}
	a.wishes = append(a.wishes, forget)
}

// grantedLocked ends the wishes of an attempt.
func (a *attempt) grantedLocked() {
	for _, forget := range a.wishes {
		forget()
	}
	a.wishes = nil
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
