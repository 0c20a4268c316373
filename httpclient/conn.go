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
	dialer *dialer
	born   time.Time
	retire time.Time // no request should begin on it after this
	closed atomic.Bool
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

func (c *conn) old() bool { return time.Now().After(c.retire) }

// Close implements net.Conn. Closing twice counts once.
func (c *conn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.dialer.gone(c)
	}
	return c.Conn.Close()
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
