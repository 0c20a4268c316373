package ot101

import (
	"bytes"
	"context"
	"fmt"
	h "net/http"
	"net/url"
	"time"
)

type alias = h.Client

func get(u string) {
	h.Get(u)                                     // want `OT101: http.Get uses http.DefaultClient: no timeout and no context`
	h.Post(u, "text/plain", new(bytes.Buffer))   // want `OT101: http.Post uses`
	(h.PostForm)(u, url.Values{})                // want `OT101: http.PostForm uses`
	h.DefaultClient.Get(u)                       // want `OT101: http.DefaultClient.Get has no timeout`
	func() { h.Head("https://peer.example/") }() // want `OT101: http.Head uses`
}

func loopback(port int) {
	h.Get("http://localhost:8080/healthz")
	h.Get("http://127.0.0.1/healthz")
	h.Get(fmt.Sprintf("http://localhost:%d/healthz", port))
	h.Get("http://[::1]:80" + "/healthz")
}

func notCalled() func(string) (*h.Response, error) { return h.Get }

func ownGet() { Get("x") }

func Get(string) {}

type lookalike struct{}

func (lookalike) Get(string) {}

func method(l lookalike) { l.Get("x") }

func withTimeout(u string) {
	c := &h.Client{Timeout: time.Second}
	c.Get(u)
}

func aliased(u string) {
	c := alias{Timeout: time.Second}
	c.Get(u)
}

func given(c *h.Client, u string) { c.Get(u) }

func generic[C interface {
	Get(string) (*h.Response, error)
}](c C, u string) {
	c.Get(u)
}

func embedded(u string) {
	c := struct{ *h.Client }{}
	c.Get(u)
}

func header(hd h.Header) string { return hd.Get("X") }

func values(v url.Values) string { return v.Get("x") }

func withContext(ctx context.Context, u string) {
	req, _ := h.NewRequestWithContext(ctx, "GET", u, nil)
	h.DefaultClient.Do(req)
}

func parameter(http interface{ Get(string) error }, u string) { http.Get(u) }

func fieldCall(s struct{ Get func(string) }, u string) { s.Get(u) }

func param2(u string, do func(string) error) { do(u) }

func loopbackVariable(port int) {
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	h.Get(base + "/healthz")
}

func otherVariable(base string, port int) {
	if port > 0 {
		base = fmt.Sprintf("http://127.0.0.1:%d", port)
	}
	h.Get(base + "/healthz") // want `OT101: .*`
}

func admin(port int) {
	u := fmt.Sprintf("http://localhost:%d/admin", port)
	post(u)
	post("http://localhost/admin")
}

func post(u string) { h.Post(u, "text/plain", nil) }
