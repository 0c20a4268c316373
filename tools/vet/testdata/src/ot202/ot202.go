package ot202

import (
	"context"
	"net"
	"net/http"
	"time"
)

var shared = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10}}

func useShared(u string) {
	shared.Get(u) // want `OT202: http.Client without Timeout is used for Client.Get: nothing bounds this call`
}

func literal(u string) {
	(&http.Client{}).Get(u) // want `OT202: .*`
}

func zero(u string) {
	var c http.Client
	req, _ := http.NewRequest("GET", u, nil)
	c.Do(req) // want `OT202: .*`
}

func built(u string) {
	c := new(http.Client)
	c.Jar = nil
	c.Head(u) // want `OT202: .*`
}

func made(u string) {
	newClient().Get(u) // want `OT202: .*`
}

func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns = 10
	return &http.Client{Transport: t}
}

type box[T any] struct {
	client http.Client
	v      T
}

func (b *box[T]) get(u string) {
	b.client.Get(u) // want `OT202: .*`
}

func timeout(u string) {
	c := http.Client{Timeout: time.Second}
	c.Get(u)
}

func explicitZero(u string) {
	c := http.Client{Timeout: 0}
	c.Get(u)
}

func later(u string, d time.Duration) {
	c := &http.Client{}
	c.Timeout = d
	c.Get(u)
}

func laterInCallee(u string) {
	c := &http.Client{}
	configure(c)
	c.Get(u)
}

func configure(c *http.Client) { c.Timeout = time.Second }

func laterInClosure(u string) {
	c := &http.Client{}
	func() { c.Timeout = time.Second }()
	c.Get(u)
}

func laterByAddress(u string, d time.Duration) {
	c := &http.Client{}
	p := &c.Timeout
	*p = d
	c.Get(u)
}

func unknownCallee(u string, f func(*http.Client)) {
	c := &http.Client{}
	f(c)
	c.Get(u)
}

func custom(u string, rt http.RoundTripper) {
	c := &http.Client{Transport: rt}
	c.Get(u)
}

type inMemory struct{}

func (inMemory) RoundTrip(*http.Request) (*http.Response, error) { return nil, nil }

func ownTransport(u string) {
	c := &http.Client{Transport: inMemory{}}
	c.Get(u)
}

func transportLater(u string) {
	c := &http.Client{}
	c.Transport = inMemory{}
	c.Get(u)
}

func headerTimeout(u string) {
	c := &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: time.Second}}
	c.Get(u)
}

func headerTimeoutLater(u string) {
	t := &http.Transport{}
	t.ResponseHeaderTimeout = time.Second
	c := &http.Client{Transport: t}
	c.Get(u)
}

func unixSocket(u string) {
	c := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", "/run/peer.sock")
		},
	}}
	c.Get(u)
}

func fileProtocol(u string) {
	t := &http.Transport{}
	t.RegisterProtocol("file", http.NewFileTransport(http.Dir("/")))
	c := &http.Client{Transport: t}
	c.Get(u)
}

func deadline(ctx context.Context, u string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	(&http.Client{}).Do(req)
}

func returned() *http.Client {
	c := &http.Client{}
	c.Get("http://localhost/")
	return c
}

type Exported struct{ HTTP *http.Client }

func (e *Exported) get(u string) {
	if e.HTTP == nil {
		e.HTTP = &http.Client{}
	}
	e.HTTP.Get(u)
}

type option struct{ client *http.Client }

func newOption(with func(*option)) *option {
	o := &option{client: &http.Client{}}
	with(o)
	return o
}

func withTimeout(d time.Duration) func(*option) {
	return func(o *option) { o.client.Timeout = d }
}

func (o *option) get(u string) { o.client.Get(u) }

type embedded struct{ http.Client }

func (e *embedded) call(u string) { e.Get(u) }

type defined http.Client

func ofDefined(u string) {
	d := defined{}
	c := http.Client(d)
	c.Get(u)
}

func loop(u string, clients []*http.Client) {
	for _, c := range clients {
		c.Get(u)
	}
}

func branch(u string, slow bool) {
	c := &http.Client{Timeout: time.Second}
	if slow {
		c = &http.Client{}
	}
	c.Get(u)
}

var Exportable = &http.Client{}

func useExportable(u string) { Exportable.Get(u) }

func fromMap(m map[string]*http.Client, u string) { m["a"].Get(u) }

func unkeyed(u string) {
	c := http.Client{nil, nil, nil, time.Second}
	c.Get(u)
}

func stream(u string) {
	c := &http.Client{}
	req, _ := http.NewRequest("GET", u, nil)
	req.Header.Set("Accept", "text/event-stream")
	c.Do(req)
}
