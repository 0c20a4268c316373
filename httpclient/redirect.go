package httpclient

import "net/http"

// mostRedirects is as in http.Client.
const mostRedirects = 10

// checkRedirect implements http.Client's CheckRedirect.
func (c *core) checkRedirect(req *http.Request, via []*http.Request) error {
	if !c.options.FollowRedirects {
		return http.ErrUseLastResponse
	}
	refused := &RedirectError{Location: req.URL.Redacted(), Hops: len(via) - 1}
	if _, err := c.target.resolve(req.URL); err != nil {
		refused.upstream = c.target.String()
		return refused
	}
	if len(via) > mostRedirects {
		return refused
	}
	return nil
}
