package httpclient

import (
	"net/http"
	"time"
)

// newTransport makes a transport that makes connections: what is set here is what
// only it can do. Of Base it takes what is said to be taken, field by field: a
// clone would bring along what others have registered with it.
func newTransport(o Options, attempt time.Duration) *http.Transport {
	t := &http.Transport{
		ExpectContinueTimeout:  min(time.Second, attempt/4), // or there would be no time left for the answer
		MaxResponseHeaderBytes: o.MaxHeader,
		DisableCompression:     !o.Gzip,
		HTTP2:                  http2Config(o.Base),
	}
	if base := o.Base; base != nil {
		t.Proxy = base.Proxy
		t.OnProxyConnectResponse = base.OnProxyConnectResponse
		t.ProxyConnectHeader = base.ProxyConnectHeader.Clone()
		t.GetProxyConnectHeader = base.GetProxyConnectHeader
		t.WriteBufferSize, t.ReadBufferSize = base.WriteBufferSize, base.ReadBufferSize
		if base.ExpectContinueTimeout > 0 {
			t.ExpectContinueTimeout = min(t.ExpectContinueTimeout, base.ExpectContinueTimeout)
		}
	}
	if o.Observe { // then headerTooLong applies it
		t.MaxResponseHeaderBytes = 0
		if o.Base != nil {
			t.MaxResponseHeaderBytes = o.Base.MaxResponseHeaderBytes
		}
	}
	return t
}

// http2Config is Base's, with pings on: a connection whose peer is gone without a
// word would otherwise stay the one that every request is sent on.
func http2Config(base *http.Transport) *http.HTTP2Config {
	var config http.HTTP2Config
	if base != nil && base.HTTP2 != nil {
		config = *base.HTTP2
	}
	config.StrictMaxConcurrentRequests = false // it lets nobody through when as many wait as there are streams (golang.org/issue/70809)
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
