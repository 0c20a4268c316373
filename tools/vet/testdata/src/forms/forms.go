// Package forms holds the same defects in less usual forms.
package forms

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/rpc"
	"net/smtp"
	"time"
)

var fetch = http.Get

func functionValue(u string) { fetch(u) } // want `OT101: http.Get uses`

func methodValue(u string) {
	get := http.DefaultClient.Get
	get(u) // want `OT101: http.DefaultClient.Get has no timeout`
}

func methodExpression(u string) {
	c := &http.Client{}
	(*http.Client).Get(c, u) // want `OT202: .* is used for Client.Get`
}

func named() (c *http.Client) {
	c = new(http.Client)
	return
}

func namedResult(u string) { named().Get(u) } // want `OT202: `

func roundTrip(u string) (*http.Response, error) {
	req, err := http.NewRequest("GET", u, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(req) // want `OT102: http.DefaultTransport.RoundTrip`
}

func inAVariable(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	none := context.Background()
	req, err := http.NewRequestWithContext(none, "GET", u, nil) // want `OT302: outbound request on none, which is the background, although ctx is in scope`
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

func dialers(a string) {
	d := net.Dialer{KeepAlive: time.Second}
	d.Dial("tcp", a)                                 // want `OT501: `
	d.DialContext(context.Background(), "tcp", a)    // want `OT501: net.Dialer.DialContext without Timeout`
	(&tls.Dialer{}).Dial("tcp", a)                   // want `OT501: tls.Dialer.Dial without Timeout`
	tls.DialWithDialer(&net.Dialer{}, "tcp", a, nil) // want `OT501: tls.DialWithDialer with a net.Dialer without Timeout`
	smtp.Dial(a)                                     // want `OT501: smtp.Dial has no timeout`
	smtp.SendMail(a, nil, "", nil, nil)              // want `OT501: smtp.SendMail has no timeout`
	rpc.Dial("tcp", a)                               // want `OT501: rpc.Dial has no timeout`
}

func made(u string) (int, error) {
	c := new(http.Client)
	c.Timeout = time.Second
	c.Transport = new(http.Transport) // want `OT206: `
	return status(c.Get(u))
}

func declared(u string) (int, error) {
	var t http.Transport // want `OT206: `
	c := &http.Client{Timeout: time.Second, Transport: &t}
	return status(c.Get(u))
}

func newClient() *http.Client {
	return &http.Client{Timeout: time.Second, Transport: &http.Transport{}} // want `OT206: http.Transport built on every call of newClient`
}

func helped(u string) (int, error) { return status(newClient().Get(u)) }

func status(resp *http.Response, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, nil
}
