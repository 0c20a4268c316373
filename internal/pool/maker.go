package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// making is what a dial for NewClientConn has made, which does not say.
type making struct {
	host     *host
	shared   bool // it may be HTTP/2
	wire     *wire
	protocol string
	shaking  bool
	tls      error // of the handshake
}

type makingKey struct{}

func makingOf(ctx context.Context) *making {
	m, _ := ctx.Value(makingKey{}).(*making)
	return m
}

func (m *making) handshake() {
	m.shaking = true
	m.host.pool.shaking.Add(1)
}

func (m *making) handshakeDone(s tls.ConnectionState, err error) {
	if m.shaking {
		m.shaking = false
		m.host.pool.shaking.Add(-1)
	}
	m.protocol, m.tls = s.NegotiatedProtocol, err
}

// explain says at what a dial failed.
func (m *making) explain(err error) error {
	if m.tls == nil {
		return err
	}
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(e.RecordHeader[:]) == "HTTP/" {
		err = fmt.Errorf("%w: %w", http.ErrSchemeMismatch, err) // as net/http has it: the target is an http one
	}
	return &DialError{TLS, err}
}

// maker is a transport that makes connections of its own protocols.
func (p *Pool) maker(protocols *http.Protocols, config *tls.Config) *http.Transport {
	t := p.options.Maker(protocols)
	t.Protocols = protocols
	t.DialContext = p.dialPlain
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if m := makingOf(ctx); m != nil && address == m.host.address {
			return p.dialTLS(ctx, network, address, config)
		}
		return p.dialTLS(ctx, network, address, p.tls1) // a proxy is asked for a tunnel in HTTP/1.1 whatever comes through it
	}
	t.TLSClientConfig = config.Clone() // for targets behind a proxy
	t.TLSHandshakeTimeout = p.options.Longest
	t.MaxConnsPerHost = 0 // net/http panics otherwise, when a ClientConn closes
	t.IdleConnTimeout = 0 // the pool's own
	if proxy := t.Proxy; proxy != nil {
		t.Proxy = properProxy(proxy)
	}
	return t
}

// properProxy asks for a proxy with the address that requests have: NewClientConn
// leaves the port out, which exceptions to a proxy may name.
func properProxy(proxy func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	return func(req *http.Request) (*url.URL, error) {
		if m := makingOf(req.Context()); m != nil {
			req.URL.Host = m.host.name
			req.Host = m.host.name
		}
		return proxy(req)
	}
}

// tlsConfigs are the user's, with what each maker may negotiate.
func tlsConfigs(o Options) (one, two *tls.Config) {
	one = o.TLS.Clone()
	if one == nil {
		one = new(tls.Config)
	}
	one.NextProtos = []string{"http/1.1"}
	two = one.Clone()
	two.NextProtos = []string{"h2"}
	if o.Protocols.HTTP1() {
		two.NextProtos = append(two.NextProtos, "http/1.1")
	}
	return one, two
}

func (p *Pool) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	w, err := p.dialWire(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// dialTLS leaves the handshake to net/http, which tells traces of it.
func (p *Pool) dialTLS(ctx context.Context, network, address string, config *tls.Config) (net.Conn, error) {
	w, err := p.dialWire(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	return tls.Client(w, config), nil
}

// dialWire makes the connection itself.
func (p *Pool) dialWire(ctx context.Context, network, address string) (*wire, error) {
	dial := p.race
	if own := p.options.Dial; own != nil {
		dial = func(ctx context.Context, network, address string) (net.Conn, string, error) {
			c, err := own(ctx, network, address)
			return c, address, err
		}
	}
	raw, name, err := dial(ctx, network, address)
	if err != nil {
		return nil, asDialError(Connect, err)
	}
	w := newWire(raw, p, name)
	if m := makingOf(ctx); m != nil {
		m.wire = w
	}
	return w, nil
}
