package httpclient

import "context"

// awaitSlot waits for another connection to close. It is tempting to call it an
// error that there is none free: a place is a connection, after all. But several
// hosts share the connections of an upstream, and a dial whose call has found
// another connection meanwhile goes on waiting for nobody.
func (d *dialer) awaitSlot(ctx context.Context, address string) error {
	d.wanting.Add(1)
	defer d.wanting.Add(-1)
	d.stash.dropOthers(address)
	d.makeRoom()
	_, err := d.slots.Enter(ctx)
	return err
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
