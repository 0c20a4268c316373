package httpclient

import "strings"

// typed gives an error of net/http that has no type one, where callers ask for
// it. Its text is all there is to go by; a test provokes both.
func (c *core) typed(err error) error {
	text := err.Error()
	if strings.Contains(text, "server response headers exceeded") || strings.Contains(text, "http2: response header list larger than advertised limit") {
		return &HeaderLimitError{Upstream: c.name, Limit: c.options.MaxHeader, Err: err}
	}
	return err
}
