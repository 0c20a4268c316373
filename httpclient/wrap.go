package httpclient

import "net/http"

// sent is the transport that a wrapper has: it finds out which request an attempt
// has become, and the body of its response before the wrapper sees it.
type sent struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s sent) RoundTrip(req *http.Request) (*http.Response, error) {
	a := attemptOf(req.Context())
	resp, err := s.next.RoundTrip(req)
	if a != nil && err == nil {
		a.mu.Lock()
		a.wire = resp.Body
		a.mu.Unlock()
	}
	return resp, err
}
