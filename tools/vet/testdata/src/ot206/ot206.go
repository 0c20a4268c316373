package ot206

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"
)

func perCall(u string) {
	t := &http.Transport{TLSClientConfig: &tls.Config{}} // want `OT206: http.Transport built on every call of perCall and dropped: leaks an idle connection and two goroutines per call`
	c := &http.Client{Transport: t, Timeout: time.Second}
	c.Get(u)
}

func inLiteral(req *http.Request) (*http.Response, error) {
	c := http.Client{Timeout: time.Second, Transport: &http.Transport{}} // want `OT206: .*`
	return c.Do(req)
}

func roundTrip(req *http.Request) (*http.Response, error) {
	var t = &http.Transport{Proxy: nil} // want `OT206: .*`
	return t.RoundTrip(req)
}

func assignedLater(u string) {
	c := http.Client{Timeout: time.Second}
	c.Transport = &http.Transport{} // want `OT206: .*`
	c.Get(u)
}

func cloned(u string) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	c := &http.Client{Transport: t, Timeout: time.Second}
	c.Get(u)
}

func idleTimeout(u string) {
	c := &http.Client{Timeout: time.Second, Transport: &http.Transport{IdleConnTimeout: time.Minute}}
	c.Get(u)
}

func idleTimeoutLater(u string) {
	t := &http.Transport{}
	t.IdleConnTimeout = time.Minute
	c := &http.Client{Transport: t, Timeout: time.Second}
	c.Get(u)
}

func noKeepAlives(u string) {
	c := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	c.Get(u)
}

func closed(u string) {
	t := &http.Transport{}
	defer t.CloseIdleConnections()
	c := &http.Client{Transport: t, Timeout: time.Second}
	c.Get(u)
}

func closedByClient(u string) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	defer c.CloseIdleConnections()
	c.Get(u)
}

func returned() *http.Client {
	return &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
}

func returnedAfterUse(u string) *http.Client {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	c.Get(u)
	return c
}

var kept *http.Client

func global(u string) {
	kept = &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	kept.Get(u)
}

type api struct{ c *http.Client }

func field(a *api, u string) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	c.Get(u)
	a.c = c
}

func handedOver(u string, f func(*http.Client)) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	f(c)
}

type auth struct{ base http.RoundTripper }

func (a auth) RoundTrip(r *http.Request) (*http.Response, error) { return a.base.RoundTrip(r) }

func wrapped(u string) {
	c := &http.Client{Transport: auth{base: &http.Transport{}}, Timeout: time.Second}
	c.Get(u)
}

func dialer(u string) {
	c := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, nil },
	}}
	c.Get(u)
}

func init() {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	c.Get("https://peer.example")
}

func neverSends() {
	t := &http.Transport{}
	t.Proxy = nil
}

func parameter(c *http.Client, u string) {
	c.Transport = &http.Transport{}
	c.Get(u)
}

func file() {
	t := &http.Transport{}
	t.RegisterProtocol("file", http.NewFileTransport(http.Dir("/")))
	(&http.Client{Transport: t, Timeout: time.Second}).Get("file:///etc/hosts")
}

func closing(u string) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	req, _ := http.NewRequest("GET", u, nil)
	req.Close = true
	c.Do(req)
}

func closingByHeader(u string) {
	c := &http.Client{Transport: &http.Transport{}, Timeout: time.Second}
	req, _ := http.NewRequest("GET", u, nil)
	req.Header.Set("Connection", "close")
	c.Do(req)
}
