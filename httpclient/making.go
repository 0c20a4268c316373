package httpclient

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
)

// making is what a dial for NewClientConn has made, which does not say.
type making struct {
	host     string
	conn     *conn
	protocol string
}

type makingKey struct{}

func (m *making) handshakeDone(s tls.ConnectionState, _ error) { m.protocol = s.NegotiatedProtocol }

// made takes note of a connection.
func made(ctx context.Context, c net.Conn, err error) (net.Conn, error) {
	if m, ok := ctx.Value(makingKey{}).(*making); ok && err == nil {
		m.conn = ourConn(c)
		m.conn.http2 = true
	}
	return c, err
}

// properProxy asks for a proxy with the address that requests have: NewClientConn
// leaves the port out, which exceptions to a proxy may name.
func properProxy(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		if m, ok := req.Context().Value(makingKey{}).(*making); ok {
			req.URL.Host = m.host
		}
		return proxy(req)
	}
}
