package httpclient

import (
	"errors"
	"net/http"
)

// errUnasked is an upstream that speaks something else all of a sudden. No bound
// of a call would hold for what then comes.
var errUnasked = errors.New("httpclient: the upstream switched protocols (status 101), which the request did not ask for (RFC 9110, section 15.2.2)")

// unasked returns errUnasked, and closes the connection, for a 101 to a request
// without an Upgrade header.
func unasked(resp *http.Response, req *http.Request) error {
	if resp.StatusCode != http.StatusSwitchingProtocols || req.Header.Get("Upgrade") != "" {
		return nil
	}
	resp.Body.Close()
	return errUnasked
}
