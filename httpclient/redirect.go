package httpclient

import "net/http"

// mostRedirects is as in http.Client.
const mostRedirects = 10

// checkRedirect implements http.Client's CheckRedirect.
func (c *core) checkRedirect(req *http.Request, via []*http.Request) error {
	if !c.options.FollowRedirects {
		return http.ErrUseLastResponse
	}
	from := via[0].URL
	foreign := req.URL.Scheme != from.Scheme || c.target.normal(req.URL.Host) != c.target.normal(from.Host)
	if foreign || len(via) > mostRedirects {
		return &RedirectError{Location: req.URL.Redacted(), Hops: len(via) - 1, foreign: foreign}
	}
	return nil
}
