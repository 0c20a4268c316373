package httpclient

import (
	"crypto/tls"
	"math"
	"net/http"
	"time"
)

// newTransport makes the engine for HTTP/1.1. What bounds a call is around it;
// what is set here is what only it can do.
func newTransport(c *core) *http.Transport {
	o := c.options
	t := new(http.Transport)
	if o.Base != nil {
		t = o.Base.Clone()
	}
	t.DialContext = c.dialer.dialPlain
	t.DialTLSContext = c.dialer.dialTLS
	t.TLSClientConfig = c.dialer.tls.Clone() // for targets behind a proxy
	t.TLSHandshakeTimeout = longestConnect   // likewise
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.MaxConnsPerHost = 0 // the dialer's own slots: see there
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = math.MaxInt // all of them: what was worth opening is worth keeping
	t.IdleConnTimeout = o.Idle
	t.ResponseHeaderTimeout = 0 // Plan.Attempt covers it, for 4 allocations less
	t.ExpectContinueTimeout = time.Second
	t.MaxResponseHeaderBytes = o.MaxHeader
	t.DisableCompression = !o.Gzip
	t.DisableKeepAlives = false
	t.HTTP2 = http2Config(o.Base)
	return t
}

// http2Config is Base's, with pings on: a connection whose peer is gone without a
// word would otherwise stay the one that every request is sent on.
func http2Config(base *http.Transport) *http.HTTP2Config {
	var config http.HTTP2Config
	if base != nil && base.HTTP2 != nil {
		config = *base.HTTP2
	}
	config.StrictMaxConcurrentRequests = false // see streams
	for _, d := range []struct {
		field     *time.Duration
		byDefault time.Duration
	}{
		{&config.SendPingTimeout, 30 * time.Second}, // not less: servers answer with GOAWAY too_many_pings
		{&config.PingTimeout, 10 * time.Second},
		{&config.WriteByteTimeout, 10 * time.Second}, // a ping can't be written on a connection that is stuck
	} {
		if *d.field == 0 {
			*d.field = d.byDefault
		}
	}
	return &config
}

// tlsConfigs are Base's, or new ones.
//
// It is tempting to add a session cache, since a resumed session costs the
// upstream no signature. But crypto/tls does not call VerifyPeerCertificate and
// GetClientCertificate for one, so that a peer whose trust was withdrawn and a
// client certificate that was replaced would go on for as long as tickets do.
// Only whoever wrote the configuration knows whether that will do.
func tlsConfigs(o Options) (plain, shared *tls.Config) {
	plain = new(tls.Config)
	if o.Base != nil && o.Base.TLSClientConfig != nil {
		plain = o.Base.TLSClientConfig.Clone()
	}
	plain.MinVersion = max(plain.MinVersion, tls.VersionTLS12)
	plain.NextProtos = []string{"http/1.1"}
	shared = plain.Clone()
	shared.NextProtos = []string{"h2"}
	if o.Protocols.HTTP1() {
		shared.NextProtos = append(shared.NextProtos, "http/1.1")
	}
	return plain, shared
}
