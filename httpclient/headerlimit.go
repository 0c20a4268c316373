package httpclient

import (
	"errors"
	"net/http"
	"strings"
)

// typed gives an error of net/http that has no type one, where callers ask for
// it. Its text is all there is to go by; a test provokes both.
func (c *core) typed(err error) error {
	text := err.Error()
	if strings.Contains(text, "server response headers exceeded") || strings.Contains(text, "http2: response header list larger than advertised limit") {
		return &HeaderLimitError{Upstream: c.name, Limit: c.options.MaxHeader, Err: err}
	}
	return err
}

// headerTooLong applies Options.MaxHeader where the transport does not: a client
// that began in observe mode has a transport without that limit, which can't be
// changed later.
func (c *core) headerTooLong(h http.Header) error {
	if !c.options.Observe {
		return nil
	}
	size := int64(0)
	for name, values := range h {
		for _, v := range values {
			size += int64(len(name) + len(v) + len(": \r\n"))
		}
	}
	if limit := c.options.MaxHeader; size > limit && c.limits.apply(limitHeader) {
		return &HeaderLimitError{Upstream: c.name, Limit: limit, Err: errLongHeader}
	}
	return nil
}

var errLongHeader = errors.New("headers too long")
