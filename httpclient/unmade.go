package httpclient

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// errUnmade is what a Client answers that New has not made.
var errUnmade = errors.New("httpclient: nil or zero Client; make one with New")

// alive returns what is behind the client, unless New has not made it: a client
// is often a field that somebody forgot to set, and a panic in the middle of a
// request says less about it.
func (c *Client) alive() (*core, error) {
	if c == nil || c.core == nil {
		return nil, errUnmade
	}
	return c.core, nil
}

// unmade refuses every request.
type unmade struct{}

// RoundTrip implements http.RoundTripper.
func (unmade) RoundTrip(req *http.Request) (*http.Response, error) {
	closeOurs(req)
	return nil, errUnmade
}

func (c *Client) http() *http.Client {
	if c == nil || c.Client == nil {
		return &http.Client{Transport: unmade{}}
	}
	return c.Client
}

// named completes the address in an error of http.Client, which has it as the
// request does: of a path alone nobody could tell the upstream. That of a redirect
// that was refused is the Location as it came, with all its secrets.
func (c *Client) named(resp *http.Response, err error) (*http.Response, error) {
	if e, ok := errors.AsType[*url.Error](err); ok && c != nil && c.core != nil && strings.HasPrefix(e.URL, "/") && !strings.HasPrefix(e.URL, "//") {
		e.URL = c.core.target.String() + e.URL
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		if refused, ok := e.Err.(*RedirectError); ok { //nolint:errorlint // the outermost is meant
			e.URL = refused.Location
		}
	}
	return resp, err
}

// Do is http.Client's, and so are the methods below. A request for a path alone,
// as "/authorize", goes to the target.
func (c *Client) Do(req *http.Request) (*http.Response, error) { return c.named(c.http().Do(req)) }

// Get sends a GET request.
func (c *Client) Get(url string) (*http.Response, error) { return c.named(c.http().Get(url)) }

// Head sends a HEAD request.
func (c *Client) Head(url string) (*http.Response, error) { return c.named(c.http().Head(url)) }

// Post sends a POST request.
func (c *Client) Post(url, contentType string, body io.Reader) (*http.Response, error) {
	return c.named(c.http().Post(url, contentType, body))
}

// PostForm sends a POST request with a form.
func (c *Client) PostForm(url string, data url.Values) (*http.Response, error) {
	return c.named(c.http().PostForm(url, data))
}

// CloseIdleConnections closes the connections that nobody uses.
func (c *Client) CloseIdleConnections() { c.http().CloseIdleConnections() }
