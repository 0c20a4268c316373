package httpclient

import (
	"crypto/tls"
	"net/http"
	"time"
)

// newTransport makes the engine. What bounds a call is around it; what is set
// here is what only it can do.
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
	t.Protocols = o.Protocols
	t.MaxConnsPerHost = 0 // the dialer's own slots: see there
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = maxInt // all of them: what was worth opening is worth keeping
	t.IdleConnTimeout = o.Idle
	t.ResponseHeaderTimeout = 0 // Plan.Attempt covers it, for 4 allocations less
	t.ExpectContinueTimeout = time.Second
	t.MaxResponseHeaderBytes = o.MaxHeader
	t.DisableCompression = !o.Gzip
	t.DisableKeepAlives = false
	t.HTTP2 = &http.HTTP2Config{
		SendPingTimeout:  30 * time.Second, // not less: servers answer with GOAWAY too_many_pings
		PingTimeout:      10 * time.Second,
		WriteByteTimeout: 10 * time.Second, // a ping can't be written on a connection that is stuck
		// StrictMaxConcurrentRequests stays off: with as many waiters as streams it
		// never lets anybody through (golang.org/issue/70809).
	}
	return t
}

const maxInt = int(^uint(0) >> 1)

// tlsConfig is Base's, or a new one, with a session cache: a session that is
// resumed costs the upstream no signature.
func tlsConfig(o Options) *tls.Config {
	config := new(tls.Config)
	if o.Base != nil && o.Base.TLSClientConfig != nil {
		config = o.Base.TLSClientConfig.Clone()
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	if config.ClientSessionCache == nil {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(64)
	}
	config.NextProtos = nil
	if o.Protocols.HTTP2() {
		config.NextProtos = append(config.NextProtos, "h2")
	}
	if o.Protocols.HTTP1() {
		config.NextProtos = append(config.NextProtos, "http/1.1")
	}
	return config
}
