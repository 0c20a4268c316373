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
