package grpcclient

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
)

// watchedCredentials are the user's, with an eye on the connections they secure.
// It is the one place where a connection can be wrapped: around a raw one grpc-go
// could not set its socket options, and could not see that a TLS one is TLS.
type watchedCredentials struct {
	credentials.TransportCredentials
	pool *pool
}

// ClientHandshake implements credentials.TransportCredentials.
func (w *watchedCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	l := linkOf(ctx)
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	if l == nil {
		return conn, info, err
	}
	if err != nil {
		l.failed(&dialError{address: l.address, tls: true, err: err})
		return conn, info, err
	}
	l.connected()
	return watch(conn, l), info, nil
}

// Clone implements credentials.TransportCredentials.
func (w *watchedCredentials) Clone() credentials.TransportCredentials {
	return &watchedCredentials{TransportCredentials: w.TransportCredentials.Clone(), pool: w.pool}
}

// linkKey finds the link of an address that is being dialed.
type linkKey struct{}

func linkOf(ctx context.Context) *link {
	l, _ := credentials.ClientHandshakeInfoFromContext(ctx).Attributes.Value(linkKey{}).(*link)
	return l
}

// watchedConn is a connection whose frames are followed.
type watchedConn struct {
	net.Conn
	link   *link
	frames frames
}

func watch(conn net.Conn, l *link) net.Conn {
	return &watchedConn{Conn: conn, link: l, frames: frames{limit: l.learn, away: func() { l.away.Store(true) }}}
}

// Read implements net.Conn. Only grpc-go's one reader calls it.
func (c *watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.link.heard()
		c.frames.feed(p[:n])
	}
	return n, err
}
