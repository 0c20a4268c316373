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

func (m *mixed) setTimeout(d time.Duration) { m.client.Timeout = d } // want `OT104: writing m.client.Timeout changes`

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

var shared = http.DefaultClient

var sharedCopy = *http.DefaultClient

func packageVariable() { shared.Timeout = time.Second } // want `OT104: writing shared.Timeout changes http.DefaultClient`

func packageCopy() { sharedCopy.Timeout = time.Second }

func wholeValue() { *http.DefaultClient = http.Client{Timeout: time.Second} } // want `OT104: writing \*http.DefaultClient changes`

func theGlobal() *http.Client { return http.DefaultClient }

func own(c *http.Client) *http.Client {
	if c != nil {
		return c
	}
	return &http.Client{}
}

func throughAFunction() { theGlobal().Timeout = time.Second } // want `OT104: writing theGlobal\(\).Timeout changes`

func throughAFunctionAndAVariable() {
	c := theGlobal()
	c.Timeout = time.Second // want `OT104: writing c.Timeout changes`
}

func throughOwn() { own(nil).Timeout = time.Second }

func checked() {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.MaxIdleConnsPerHost = 100 // want `OT104: writing t.MaxIdleConnsPerHost changes http.DefaultTransport`
	}
}

func checkedAndCloned() {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = 100
	}
}

func closure() {
	c := http.DefaultClient
	func() { c.Timeout = time.Second }() // want `OT104: writing c.Timeout changes`
}

func closureOverOwn(c *http.Client) {
	if c == nil {
		c = &http.Client{}
	}
	func() { c.Timeout = time.Second }()
}

func nested() {
	http.DefaultTransport.(*http.Transport).TLSClientConfig.MinVersion = 1 // want `OT104: writing .*MinVersion changes http.DefaultTransport`
}

func nestedOfOwn(t *http.Transport) { t.TLSClientConfig.MinVersion = 1 }

func method(rt http.RoundTripper) {
	http.DefaultTransport.(*http.Transport).RegisterProtocol("x", rt) // want `OT104: writing .*RegisterProtocol changes`
}

func methodOfOwn(t *http.Transport, rt http.RoundTripper) { t.RegisterProtocol("x", rt) }

func pointer() {
	p := &http.DefaultClient.Timeout
	*p = time.Second // want `OT104: writing \*p changes http.DefaultClient`
}

func pointerToOwn(c *http.Client) {
	p := &c.Timeout
	*p = time.Second
}

type fallsBack struct{ c *http.Client }

func newFallsBack(c *http.Client) *fallsBack {
	f := &fallsBack{c: c}
	if f.c == nil {
		f.c = http.DefaultClient
	}
	return f
}

func (f *fallsBack) trace(rt http.RoundTripper) { f.c.Transport = rt } // want `OT104: writing f.c.Transport changes`

type knows struct {
	c   *http.Client
	own bool
}

func newKnows(c *http.Client) *knows {
	if c == nil {
		return &knows{c: http.DefaultClient}
	}
	return &knows{c, true}
}

func (k *knows) trace(rt http.RoundTripper) {
	if k.own {
		k.c.Transport = rt
	}
}

type replaces struct{ c *http.Client }

func newReplaces() *replaces { return &replaces{c: http.DefaultClient} }

func (r *replaces) trace(rt http.RoundTripper) {
	r.c = &http.Client{}
	r.c.Transport = rt
}

func copyOfTransport() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Transport{}
	}
	t = t.Clone()
	t.MaxIdleConns = 5
	return t
}

func copyOfClient() *http.Client {
	c := new(http.Client)
	*c = *http.DefaultClient
	c.Timeout = time.Second
	return c
}

func readsPointer() time.Duration {
	p := &http.DefaultClient.Timeout
	return *p
}

func readsNested() bool {
	return http.DefaultTransport.(*http.Transport).TLSClientConfig.InsecureSkipVerify
}

func sends(req *http.Request) (*http.Response, error) { return theGlobal().Do(req) }

func registered(t http.RoundTripper) {
	own := &http.Transport{}
	own.RegisterProtocol("x", t)
}

func other() {
	c := own(http.DefaultClient)
	_ = c.Timeout
}

func reassigned(x *http.Client) {
	c := theGlobal()
	c = x
	c.Timeout = time.Second
}

func made() *http.Client { return &http.Client{} }

func freshly() { made().Timeout = time.Second }

func headers(req *http.Request) { req.Header = http.Header{} }

func server(s *http.Server) { s.ReadTimeout = time.Second }

func value2() {
	c := *theGlobal()
	c.Timeout = time.Second
}

func parameter(t *http.Transport) { t.MaxIdleConns = 1 }

func ranged(cs []*http.Client) {
	for _, c := range cs {
		c.Timeout = time.Second
	}
}

func inMap(cs map[string]*http.Client) { cs["a"].Timeout = time.Second }

func converted(rt http.RoundTripper) {
	if t, ok := rt.(*http.Transport); ok {
		t.MaxIdleConns = 1
	}
}
