package httpclient

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
)

// streams is the engine for HTTP/2: for each host a few connections, each shared
// by up to Plan.Streams requests.
//
// It is tempting to leave this to http.Transport, as for HTTP/1.1. But that opens
// a further connection whenever the streams of one are taken, however many it
// has; with its own limit on connections set, it counts dials and not
// connections; told to wait for a stream instead, it never lets anybody through
// when as many wait as there are streams (golang.org/issue/70809); and it sleeps
// for seconds between repetitions of its own. http.ClientConn is one connection
// that says whether it has room, and that is all there has to be known.
type streams struct {
	core  *core
	maker *http.Transport // makes the connections, and sends nothing itself
	hosts map[string]*host
	work  sync.WaitGroup // dials
	plain atomic.Bool    // the upstream speaks HTTP/1.1 alone
}

// errPlain says that the upstream chose HTTP/1.1, which is allowed.
var errPlain = errors.New("httpclient: the upstream speaks HTTP/1.1")

func newStreams(c *core) *streams {
	p := &streams{core: c, maker: newTransport(c), hosts: make(map[string]*host)}
	p.maker.Protocols = c.options.Protocols
	p.maker.DialContext = c.dialer.dialPlain2
	p.maker.DialTLSContext = c.dialer.dialTLS2
	p.maker.TLSClientConfig = c.dialer.tls2.Clone()
	if proxy := p.maker.Proxy; proxy != nil {
		p.maker.Proxy = properProxy(proxy)
	}
	for name := range c.target.hosts {
		p.hosts[name] = &host{streams: p, name: name, address: c.target.dialAddressOf(name)}
	}
	return p
}

// wantsStreams says whether HTTP/2 may be spoken at all. Without TLS nothing is
// negotiated: only a client that can't do otherwise speaks it.
func (o *Options) wantsStreams(scheme string) bool {
	if scheme == "https" {
		return o.Protocols.HTTP2()
	}
	return o.Protocols.UnencryptedHTTP2() && !o.Protocols.HTTP1()
}

// sharing is how many requests may share a connection, and how many connections
// there may be. In observe mode calls beyond the plan need more of them.
func (c *core) sharing() (each, conns int) {
	plan := c.plan.Load()
	if c.limits.observing.Load() {
		return plan.Streams, math.MaxInt
	}
	return plan.Streams, plan.Connections
}

// RoundTrip implements http.RoundTripper: one request, repeated only if the
// upstream has said that it was not begun.
func (p *streams) RoundTrip(req *http.Request) (*http.Response, error) {
	trace := httptrace.ContextClientTrace(req.Context())
	for try := 0; ; try++ {
		if p.plain.Load() {
			return p.core.transport.RoundTrip(req)
		}
		c, waited, err := p.acquire(req, trace)
		if err == errPlain {
			continue
		}
		if err != nil {
			closeOurs(req)
			return nil, err
		}
		if trace != nil && trace.GotConn != nil {
			trace.GotConn(httptrace.GotConnInfo{Conn: c.raw, Reused: !waited, WasIdle: !waited})
		}
		resp, err := c.RoundTrip(req)
		if err == nil {
			c.learn()
			return resp, nil
		}
		if req, err = again(req, try, c.explain(err)); err != nil {
			return nil, err
		}
	}
}

func (p *streams) acquire(req *http.Request, trace *httptrace.ClientTrace) (c *shared, waited bool, err error) {
	h := p.hosts[req.URL.Host]
	if h == nil { // a wrapper has changed it
		return nil, false, &HostError{Upstream: p.core.target.String(), Refused: req.URL.Host}
	}
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(h.address)
	}
	return h.acquire(req.Context())
}

// again returns the request to send once more after err, or the error that it
// ends with.
func again(req *http.Request, try int, err error) (*http.Request, error) {
	closeOurs(req) // ClientConn leaves it open if it never came to write
	if !unprocessed(err) || (hasBody(req) && req.GetBody == nil) {
		return nil, err
	}
	if try == silentRetries2 {
		return nil, fmt.Errorf("%w: %w", errSilentRetries, err)
	}
	repeated := req.WithContext(req.Context())
	if hasBody(req) {
		body, failed := req.GetBody()
		if failed != nil {
			return nil, &CallerError{Err: failed}
		}
		repeated.Body = body
	}
	return repeated, nil
}

// CloseIdleConnections closes what nobody uses.
func (p *streams) CloseIdleConnections() {
	for _, h := range p.hosts {
		h.closeIdle()
	}
}

// close refuses those that wait for a stream, has connections close after their
// last one, and waits for dials to end: the dialer is closed before.
func (p *streams) close() {
	for _, h := range p.hosts {
		h.close()
	}
	p.work.Wait()
}

// resize applies a plan that shares connections in another way.
func (p *streams) resize() {
	for _, h := range p.hosts {
		h.wake()
	}
}
