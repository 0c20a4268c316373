package httpclient

import "net/http"

// retire has the connection closed after this request, which owns it. It is
// tempting to have a timer close old connections; but one may have been handed
// out an instant before, and what is sent on it is then lost.
//
// The transport sends a request with a body as a copy of ours, so that only its
// header is seen, and that only if it is not the caller's.
func (a *attempt) retire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case !hasBody(a.request):
		a.request.Close = true
	case a.ownsHeader:
		a.request.Header.Set("Connection", "close")
		a.call.core.dialer.retiring.Store(false)
	default:
		a.call.core.dialer.retiring.Store(true) // the next one will have its own
	}
}

// sent is the transport that a wrapper has: it finds out which request an attempt
// has become, for retire.
type sent struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s sent) RoundTrip(req *http.Request) (*http.Response, error) {
	a, ok := req.Context().Value(attemptKey{}).(*attempt)
	if ok {
		req = a.become(req)
	}
	resp, err := s.next.RoundTrip(req)
	if ok && err == nil {
		a.mu.Lock()
		a.wire = resp.Body
		a.mu.Unlock()
	}
	return resp, err
}

// become takes over what a wrapper has made of the attempt's request: a copy,
// since a transport must not change a request that it is given.
func (a *attempt) become(req *http.Request) *http.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.request = req.WithContext(req.Context())
	a.ownsHeader = false
	if a.call.core.dialer.retiring.Load() && hasBody(a.request) {
		a.header()
	}
	return a.request
}
