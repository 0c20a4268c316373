package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

// connect opens one more connection to a host. What comes after the dial itself,
// through a proxy, is bounded here.
func (h *host) connect(ctx context.Context) (*shared, error) {
	p := h.streams
	ctx, cancel := context.WithTimeout(ctx, longestConnect)
	defer cancel()
	defer context.AfterFunc(p.core.dialer.life, cancel)()
	began, made := time.Now(), &making{host: h.name}
	ctx = context.WithValue(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{TLSHandshakeDone: made.handshakeDone}), makingKey{}, made)
	cc, err := p.maker.NewClientConn(ctx, p.core.target.scheme, h.address)
	if err != nil {
		return nil, err
	}
	if p.core.target.scheme == "https" && made.protocol != "h2" {
		cc.Close()
		return nil, p.turnedDown()
	}
	now := time.Now()
	wait := settle(now.Sub(began))
	c := &shared{ClientConn: cc, raw: made.conn, host: h, settled: now.Add(wait)}
	if !h.add(c) {
		cc.Close()
		return nil, errClosedDialer
	}
	cc.SetStateHook(func(*http.ClientConn) { c.changed() })
	time.AfterFunc(wait, h.wake)
	return c, nil
}

// turnedDown is what follows when an upstream has chosen HTTP/1.1: a connection
// is a place then, for good.
func (p *streams) turnedDown() error {
	if !p.core.options.Protocols.HTTP1() {
		return errors.New("httpclient: the upstream speaks no HTTP/2, and Options.Protocols nothing else")
	}
	p.core.resizing.Lock()
	defer p.core.resizing.Unlock()
	if p.plain.CompareAndSwap(false, true) {
		p.core.gate.Resize(p.core.limitsOf(*p.core.plan.Load()))
	}
	return errPlain
}

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
