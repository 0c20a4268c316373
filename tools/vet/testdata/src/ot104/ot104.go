package ot104

import (
	"net/http"
	"time"
)

type api struct{ client *http.Client }

func New() *api { return &api{client: http.DefaultClient} }

func (a *api) setTimeout(d time.Duration) {
	a.client.Timeout = d // want `OT104: writing a.client.Timeout changes http.DefaultClient for the whole process \(a.client is not a copy\)`
}

func direct() {
	http.DefaultClient.Timeout = time.Second                     // want `OT104: writing http.DefaultClient.Timeout changes http.DefaultClient`
	http.DefaultTransport.(*http.Transport).MaxIdleConns = 5     // want `OT104: .*changes http.DefaultTransport`
	http.DefaultTransport = http.NewFileTransport(http.Dir("/")) // want `OT104: .*changes http.DefaultTransport`
}

func fallback(next *http.Client, rt http.RoundTripper) {
	if next == nil {
		next = http.DefaultClient
	}
	next.Transport = rt // want `OT104: writing next.Transport changes http.DefaultClient for the whole process \(next is not a copy\)`
}

func asserted() {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return
	}
	t.DisableKeepAlives = true // want `OT104: writing t.DisableKeepAlives changes http.DefaultTransport`
}

func handOver() {
	insecure(http.DefaultClient, true) // want `OT104: insecure sets Transport of what it is given, here http.DefaultClient`
}

func insecure(c *http.Client, skip bool) {
	if skip {
		c.Transport = &http.Transport{}
	}
}

func handOverOwn() { insecure(&http.Client{}, true) }

func clone() {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
}

func copied() {
	c := *http.DefaultClient
	c.Timeout = time.Second
}

func fresh(next *http.Client, d time.Duration) {
	if next == nil {
		next = &http.Client{}
	}
	next.Timeout = d
}

func replaced(proxy bool) {
	c := http.DefaultClient
	if proxy {
		c = &http.Client{}
		c.Timeout = time.Second
	}
	c.CloseIdleConnections()
}

func otherBranch(own bool) {
	var c *http.Client
	if own {
		c = http.DefaultClient
	} else {
		c = &http.Client{}
		c.Timeout = time.Second
	}
	c.CloseIdleConnections()
}

func returnsBefore(c *http.Client) {
	if c == nil {
		c = http.DefaultClient
		c.CloseIdleConnections()
		return
	}
	c.Timeout = time.Second
}

func correlated(c *http.Client, custom bool) {
	if !custom {
		c = http.DefaultClient
	}
	if custom {
		c.Timeout = time.Second
	}
}

func compared(c *http.Client) {
	if c == nil {
		c = http.DefaultClient
	}
	if c != http.DefaultClient {
		c.Timeout = time.Second
	}
}

func killed() {
	c := http.DefaultClient
	c.CloseIdleConnections()
	c = new(http.Client)
	c.Timeout = time.Second
}

func reads() time.Duration { return http.DefaultClient.Timeout }

func given(c *http.Client) { c.Timeout = time.Second }

func copyThenSet(c *http.Client) {
	own := *c
	own.Timeout = time.Second
}

func value() http.Client {
	var c http.Client
	c.Transport = http.DefaultTransport
	return c
}

func SetDefaultTimeout(d time.Duration) { http.DefaultClient.Timeout = d }

type mixed struct{ client *http.Client }

func (m *mixed) use(c *http.Client) { m.client = c }

func (m *mixed) init() { m.client = http.DefaultClient }

func (m *mixed) setTimeout(d time.Duration) { m.client.Timeout = d }

func guard(c *http.Client) {
	if c == http.DefaultClient {
		return
	}
	c.Timeout = time.Second
}

func handGuard() { guard(http.DefaultClient) }

func local(c *http.Client) {
	c = &http.Client{}
	c.Timeout = 1
}

func handLocal() { local(http.DefaultClient) }

func onlyReads(c *http.Client) bool { return c.Timeout > 0 }

func handReads() { onlyReads(http.DefaultClient) }

type defined http.Client

func ofDefined(c *defined) { c.Timeout = 1 }

func generic[T any](c *http.Client, v T) T {
	d := &http.Client{Transport: http.DefaultTransport}
	d.Timeout = 1
	return v
}

func init() {
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 50
	t := http.DefaultTransport.(*http.Transport)
	t.MaxIdleConns = 100
	http.DefaultClient.CheckRedirect = nil // want `OT104: .*`
	t.TLSClientConfig = nil                // want `OT104: .*`
}
