package strict

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/go-retryablehttp"
	"google.golang.org/grpc"
)

func defaults() {
	_ = http.DefaultClient                    // want `OT111: http.DefaultClient used outside the client factory \(use fixes\)`
	keep(http.DefaultTransport)               // want `OT112: http.DefaultTransport used outside`
	http.DefaultClient.CloseIdleConnections() // want `OT702: CloseIdleConnections on http.DefaultClient` `OT111: .*`
}

func keep(http.RoundTripper) {}

// Nothing is sent over what is cloned, read or compared.
func looks(rt http.RoundTripper) bool {
	t := http.DefaultTransport.(*http.Transport)
	own := t.Clone()
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		_ = d.MaxIdleConns
	}
	_ = http.DefaultTransport.(*http.Transport).Clone()
	switch http.DefaultTransport.(type) {
	case *http.Transport:
	}
	return rt == http.DefaultTransport && own.MaxIdleConns == t.MaxIdleConns
}

var zero http.Client // want `OT201: http.Client declared outside`

func clients() {
	_ = http.Client{Timeout: 1} // want `OT201: http.Client constructed outside`
	_ = new(http.Client)        // want `OT201: .*`
	_ = &http.Transport{}       // want `OT203: http.Transport constructed outside` `OT205: .*`
	_ = new(http.Transport)     // want `OT203: .*`
	var t http.Transport        // want `OT203: http.Transport declared outside`
	t.CloseIdleConnections()
}

func request(u string, c *http.Client) (*http.Response, error) {
	req, err := http.NewRequest("GET", u, nil) // want `OT303: http.NewRequest takes no context`
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

// Whoever gets the request may give it a context.
func built(u string) (*http.Request, error) { return http.NewRequest("GET", u, nil) }

func contextLater(ctx context.Context, u string, c *http.Client) (*http.Response, error) {
	req, err := http.NewRequest("GET", u, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req.WithContext(ctx))
}

func rpc(target string) {
	grpc.NewClient(target) // want `OT401: grpc.NewClient called outside`
	grpc.Dial(target)      // want `OT401: grpc.Dial called outside`
}

func proxies(u *url.URL) *httputil.ReverseProxy {
	_ = &httputil.ReverseProxy{Rewrite: nil}     // want `OT502: httputil.ReverseProxy over http.DefaultTransport`
	return httputil.NewSingleHostReverseProxy(u) // want `OT502: .*`
}

func thirdParty() {
	retryablehttp.NewClient()   // want `OT503: retryablehttp.NewClient called outside`
	_ = websocket.DefaultDialer // want `OT503: websocket.DefaultDialer used outside`
	_ = websocket.Dialer{}      // want `OT503: websocket.Dialer constructed outside`
}

func plan() {
}

// A defect is said once: not as policy too.
func once(u string) {
	(&http.Client{}).Get(u) // want `OT202: .*`
}

func proxyWithTransport(u *url.URL, rt http.RoundTripper) {
	_ = &httputil.ReverseProxy{Transport: rt}
	p := httputil.NewSingleHostReverseProxy(u)
	p.Transport = rt
	q := &httputil.ReverseProxy{}
	q.Transport = rt
}

func pointers(c *http.Client, t *http.Transport, cc *grpc.ClientConn) {
	var d *http.Client
	_, _, _, _ = c, t, cc, d
}

type api struct {
	client *http.Client
	conn   *grpc.ClientConn
}

type defined http.Client

func ofDefined() { _ = defined{} }

func others() {
	retryablehttp.Unmarshal()
	_ = http.Server{}
	_ = http.Header{}
}

func assert(rt http.RoundTripper) (*http.Transport, bool) {
	t, ok := rt.(*http.Transport)
	return t, ok
}

func with(u string, c *http.Client) (*http.Request, error) {
	return http.NewRequestWithContext(nil, "GET", u, nil)
}
