package httpclient

import (
	"net/http"
	"net/url"
)

// mostRedirects is as in http.Client.
const mostRedirects = 10

// checkRedirect implements http.Client's CheckRedirect.
func (c *core) checkRedirect(req *http.Request, via []*http.Request) error {
	if !c.options.FollowRedirects {
		return http.ErrUseLastResponse
	}
	foreign := !c.target.same(via[0].URL, req.URL)
	if foreign || len(via) > mostRedirects {
		return &RedirectError{Location: req.URL.Redacted(), Hops: len(via) - 1, foreign: foreign}
	}
	return nil
}

// same says whether both addresses are of one host of the upstream. It is no
// matter whether they are whole, or relative to the target.
func (t target) same(a, b *url.URL) bool {
	first, err := t.resolve(a)
	if err != nil {
		return false
	}
	second, err := t.resolve(b)
	return err == nil && first.Host == second.Host
}
