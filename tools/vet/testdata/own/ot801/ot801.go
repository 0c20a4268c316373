package ot801

import (
	"net/http"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

func own(c *httpclient.Client) {
	c.Timeout = time.Second                // want `OT801: Timeout on offtake's own client: state it as the plan's Deadline`
	c.Client.Transport = &http.Transport{} // want `OT801: Transport of offtake's own client replaced`
}

type service struct{ *httpclient.Client }

type renamed = httpclient.Client

func promoted(s *service) {
	s.Timeout = time.Second               // want `OT801: Timeout`
	s.Client.Client.Timeout = time.Second // want `OT801: Timeout`
}

func underAnAlias(c *renamed) {
	c.Timeout = time.Second // want `OT801: Timeout`
}

func inAVariable(c *httpclient.Client) {
	inner := c.Client
	inner.Timeout = time.Second // want `OT801: Timeout`
}

func copied(c *httpclient.Client) *http.Client {
	own := *c.Client
	own.Timeout = time.Second
	return &own
}

func another(c *httpclient.Client, other *http.Client) {
	inner := other
	inner.Timeout = time.Second
	_ = c
}

func jar(s *service) { s.Jar = nil }

func deadline(c *httpclient.Client) time.Duration { return c.Client.Timeout }

func reads2(s *service) http.RoundTripper { return s.Transport }

func local() {
	var c struct{ Timeout time.Duration }
	c.Timeout = time.Second
}

func resize(c *httpclient.Client, plan capacity.Plan) error { return c.Resize(plan) }

func standard(c *http.Client) { c.Timeout = time.Second }

func checkRedirect(c *httpclient.Client) {
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

func plan(p *capacity.Plan) { p.Deadline = time.Second }

func reads(c *httpclient.Client) time.Duration { return c.Timeout }

type wrapper struct {
	Client  *http.Client
	Timeout time.Duration
}

func ofWrapper(w *wrapper) {
	w.Timeout = time.Second
	w.Client.Timeout = time.Second
}

func call(c *httpclient.Client, u string) { c.Get(u) }
