package httpclient

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// conn is a connection of the pool, below TLS.
type conn struct {
	net.Conn
	dialer  *dialer
	address string
	http2   bool
	born    time.Time
	retire  time.Time // no request should begin on it after this

	closed    atomic.Bool
	slot      atomic.Bool // given back
	upgraded  atomic.Bool
	heard     atomic.Int64 // HTTP/2 alone: when bytes last came, in nanoseconds after born
	suspected atomic.Bool  // HTTP/2 alone: see suspect
}

// ourConn finds our connection in what the transport has. It is nil for one that
// a wrapper or a proxy has put something around.
func ourConn(c net.Conn) *conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	ours, _ := c.(*conn)
	return ours
}

func (c *conn) old(now time.Time) bool { return now.After(c.retire) }

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.http2 && n > 0 {
		c.heard.Store(int64(time.Since(c.born)))
	}
	return n, err
}

// suspect takes note of an attempt that ran out of time on the connection. If
// not one byte came over it since the attempt had it, for whatever stream, then
// the peer is likely gone: with HTTP/1.1 the connection would be closed, and
// with HTTP/2 it must at least not be given to anybody else. The pings find it
// out for sure, but after longer than most calls may last.
func (c *conn) suspect(since time.Time) {
	if c.http2 && time.Duration(c.heard.Load()) < since.Sub(c.born) {
		c.suspected.Store(true)
	}
}

// upgrade gives the connection to its user, who speaks something else on it for
// as long as they like: it no longer counts against the plan's connections.
func (c *conn) upgrade() {
	if c.upgraded.CompareAndSwap(false, true) {
		c.dialer.upgraded.Add(1)
		c.leaveSlot()
	}
	if c.closed.Load() { // before it was counted
		c.downgrade()
	}
}

// downgrade takes back what upgrade has counted, once.
func (c *conn) downgrade() {
	if c.upgraded.CompareAndSwap(true, false) {
		c.dialer.upgraded.Add(-1)
	}
}

// leaveSlot makes room for another connection, once.
func (c *conn) leaveSlot() {
	if c.slot.CompareAndSwap(false, true) {
		c.dialer.slots.Leave()
	}
}

// Close implements net.Conn. Closing twice counts once.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if c.closed.CompareAndSwap(false, true) {
		c.downgrade()
		c.leaveSlot()
		c.dialer.gone(c)
	}
	return err
}

// CloseWrite ends the sending side, which a user of an upgraded connection may
// want.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// ReadFrom implements io.ReaderFrom, or the body of a request that is a file
// would no longer go out by sendfile.
func (c *conn) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(c.Conn, r)
}
