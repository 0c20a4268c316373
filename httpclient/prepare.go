package httpclient

import (
	"net/http"
	"strconv"

	"github.com/offtake-go/offtake/internal/incoming"
)

// prepare makes the request of this attempt: the caller's, with our context. Its
// header is copied only if something is added to it.
func (a *attempt) prepare() error {
	l := a.call
	a.watch()
	a.request = l.request.WithContext(a)
	a.request.URL = l.url
	if l.attempts > 1 {
		if err := a.rewind(); err != nil {
			return err
		}
		a.header().Set(incoming.AttemptHeader, strconv.Itoa(l.attempts))
	}
	a.expect()
	a.tellDeadline()
	a.takeBody()
	l.core.inject(a)
	return nil
}

// rewind gives a repeated attempt its body from the start.
func (a *attempt) rewind() error {
	if !hasBody(a.request) {
		return nil
	}
	body, err := a.request.GetBody()
	if err != nil {
		return &CallerError{Upstream: a.call.core.name, Err: err}
	}
	if body == nil {
		return &CallerError{Upstream: a.call.core.name, Err: errNoBody}
	}
	a.request.Body = body
	return nil
}

// header is the request's own header, to write to.
func (a *attempt) header() http.Header {
	if !a.ownsHeader {
		a.ownsHeader = true
		if a.request.Header = a.request.Header.Clone(); a.request.Header == nil {
			a.request.Header = make(http.Header)
		}
	}
	return a.request.Header
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }
