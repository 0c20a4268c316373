package httpclient

import "net/http"

// mostRedirects is as in http.Client.
const mostRedirects = 10

// checkRedirect implements http.Client's CheckRedirect.
func (c *core) checkRedirect(req *http.Request, via []*http.Request) error {
	if !c.options.FollowRedirects {
		return http.ErrUseLastResponse
	}
	location := *req.URL
	location.RawQuery = "" // it may hold secrets, and an error goes to logs
	refused := &RedirectError{Location: location.Redacted(), Hops: len(via) - 1}
	if _, err := c.target.resolve(req.URL); err != nil {
		refused.upstream = c.target.String()
		return refused
	}
	if len(via) > mostRedirects {
		return refused
	}
	return nil
}
