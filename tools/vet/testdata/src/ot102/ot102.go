package ot102

import (
	"context"
	"net/http"
)

type api struct {
	client *http.Client
	header http.Header
}

func newAPI() *api { return &api{client: http.DefaultClient} }

func direct(u string) {
	req, _ := http.NewRequest("GET", u, nil)
	http.DefaultClient.Do(req) // want `OT102: http.DefaultClient is used for Do with a request that has no context: nothing bounds this call`
}

func background(u string) {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", u, nil)
	c := http.DefaultClient
	c.Do(req) // want `OT102: .*`
}

func (a *api) field(u string) {
	req, err := a.newRequest(u)
	if err != nil {
		return
	}
	req.Header = a.header
	a.client.Do(req) // want `OT102: .*`
}

func (a *api) newRequest(u string) (*http.Request, error) {
	req, err := http.NewRequest("GET", u, nil)
	if err != nil {
		return nil, err
	}
	setAuth(req)
	return req, nil
}

func setAuth(req *http.Request) { req.SetBasicAuth("user", "password") }

func reassigned(ctx context.Context, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	req = req.WithContext(ctx)
	http.DefaultClient.Do(req)
}

func inline(ctx context.Context, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	http.DefaultClient.Do(req.WithContext(ctx))
}

func overwritten(ctx context.Context, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	*req = *req.WithContext(ctx)
	http.DefaultClient.Do(req)
}

func parameter(req *http.Request) { http.DefaultClient.Do(req) }

func bounded(ctx context.Context, u string) {
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	http.DefaultClient.Do(req)
}

func derived(u string) {
	ctx, cancel := context.WithTimeout(context.Background(), 1)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	http.DefaultClient.Do(req)
}

func maybeDerived(u string, bound bool) {
	ctx := context.Background()
	if bound {
		c, cancel := context.WithTimeout(ctx, 1)
		defer cancel()
		ctx = c
	}
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	http.DefaultClient.Do(req)
}

func fallback(c *http.Client, u string) {
	if c == nil {
		c = http.DefaultClient
	}
	req, _ := http.NewRequest("GET", u, nil)
	c.Do(req)
}

func unknownHelper(u string, bind func(*http.Request)) {
	req, _ := http.NewRequest("GET", u, nil)
	bind(req)
	http.DefaultClient.Do(req)
}

func knownHelper(u string) {
	req, _ := http.NewRequest("GET", u, nil)
	rebind(req)
	http.DefaultClient.Do(req)
}

func rebind(req *http.Request) { *req = *req.WithContext(context.TODO()) }

func loopback() {
	req, _ := http.NewRequest("GET", "http://127.0.0.1:9090/metrics", nil)
	http.DefaultClient.Do(req)
}

func stream(u string) {
	req, _ := http.NewRequest("GET", u, nil)
	req.Header.Set("Accept", "text/event-stream")
	http.DefaultClient.Do(req)
}

type Exported struct{ Client *http.Client }

func (e *Exported) call(u string) {
	req, _ := http.NewRequest("GET", u, nil)
	e.Client.Do(req)
}

type option struct{ c *http.Client }

func (o *option) set(c *http.Client) { o.c = c }

func (o *option) init() { o.c = http.DefaultClient }

func (o *option) call(u string) {
	req, _ := http.NewRequest("GET", u, nil)
	o.c.Do(req)
}

func pointer(u string) {
	c := http.DefaultClient
	keep(&c)
	req, _ := http.NewRequest("GET", u, nil)
	c.Do(req)
}

var kept **http.Client

func keep(c **http.Client) { kept = c }
