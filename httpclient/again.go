package httpclient

import (
	"fmt"
	"net/http"

	"github.com/offtake-go/offtake/internal/pool"
)

// again returns the request to send once more after err, or the error that it
// ends with.
func (e engine) again(req *http.Request, l *pool.Lease, try int, err error) (*http.Request, error) {
	closeOurs(req) // ClientConn leaves it open if it never came to write
	err = explain(l.Conn(), err)
	if req.Context().Err() != nil {
		return nil, err
	}
	if try > 0 && !l.Conn().HTTP2() && l.Conn().Err() != nil { // even a new one: it was not age
		return nil, fmt.Errorf("%w: %w", errSilentRetries, err)
	}
	if !repeatable(req, l, err) || hasBody(req) && req.GetBody == nil {
		return nil, err
	}
	most := silentRetries
	if l.Conn().HTTP2() {
		most = silentRetries2
	}
	if try >= most {
		return nil, fmt.Errorf("%w: %w", errSilentRetries, err)
	}
	repeated := req.WithContext(req.Context())
	if hasBody(req) {
		body, failed := req.GetBody()
		if failed != nil {
			return nil, &CallerError{Upstream: e.core.name, Err: failed}
		}
		repeated.Body = body
	}
	return repeated, nil
}

// repeatable says whether a request that failed may be sent again at once: over
// HTTP/2 if the upstream has said that it has not begun; over HTTP/1.1 if the
// connection had been used before, and so was likely closed in the meantime, and
// either nothing was sent or doing it twice is doing it once.
//
// Bytes tell that, and not errors: those of net/http have no type.
func repeatable(req *http.Request, l *pool.Lease, err error) bool {
	if l.Conn().HTTP2() {
		return unprocessed(err)
	}
	return l.Reused() && l.Conn().Err() != nil && (l.Unsent() || l.Unheard() && replayable(req))
}

// replayable is what net/http repeats: what its user may not know of is to be less
// than all that is idempotent.
func replayable(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	_, key := req.Header["Idempotency-Key"]
	_, other := req.Header["X-Idempotency-Key"]
	return key || other
}
