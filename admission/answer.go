package admission

import (
	"fmt"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/internal/retryafter"
	"github.com/offtake-go/offtake/internal/verdict"
)

// Answer is the HTTP status for a request whose call of an upstream failed with err,
// of either client or of net/http, and the value of Retry-After, in whole seconds,
// rounded up; 0 is no such header:
//
//   - offtake.ErrBusy is 429. Busy is handed on as busy: the caller's proxies must
//     not take this replica for a broken one. An upstream that said so itself is 429
//     with its own time: RESOURCE_EXHAUSTED, or a [ResponseError] of 429.
//   - offtake.ErrClosed is 503: this process drains.
//   - context.Canceled is 499: the caller has left.
//   - A deadline, ours or the caller's, or anything else with Timeout() true, is 504.
//   - What the caller's own request can't be sent on for is 400, or 413 if it is too
//     large, or 408 if it came too slowly: errors that say so, as
//     httpclient.CallerError and grpcclient.RequestError.
//   - The rest is 502; nil is 200.
//
// An error of a call that was repeated is answered for its last attempt. Any error
// with a method Answer() (status int, retryAfter time.Duration) is answered as that
// says. Package grpcadmission has the same for gRPC.
//
// Who is told 429 comes again: for a request that has begun something which must not
// be done twice, and that its caller can't recognize, answer 502 instead.
func Answer(err error) (status int, retryAfter time.Duration) {
	if err == nil {
		return http.StatusOK, 0
	}
	status, retryAfter = verdict.Of(err)
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return status, time.Duration(retryafter.Seconds(min(retryAfter, longestRetryAfter))) * time.Second
	}
	return status, 0
}

// ResponseError is a response of an upstream that a service can't use, as an error for
// [Answer] and [WriteError]. It is immutable.
type ResponseError struct {
	StatusCode int
	RetryAfter time.Duration // the response's; 0 if it says nothing, and 30 s at most
}

// NewResponseError reads a response's status and header. It leaves the body alone:
// closing it is for the caller, as ever.
func NewResponseError(resp *http.Response) *ResponseError {
	wait, _ := retryafter.Parse(resp.Header.Get("Retry-After"), time.Now(), longestRetryAfter)
	return &ResponseError{resp.StatusCode, wait}
}

// Error names the status.
func (e *ResponseError) Error() string {
	if e.RetryAfter > 0 {
		return fmt.Sprintf("the upstream answered %d, try again in %v", e.StatusCode, e.RetryAfter)
	}
	return fmt.Sprintf("the upstream answered %d", e.StatusCode)
}

// Answer hands on 429 with its time, and 504. To everything else the caller can say
// nothing, a 4xx included: that request was this service's.
func (e *ResponseError) Answer() (status int, retryAfter time.Duration) {
	switch e.StatusCode {
	case http.StatusTooManyRequests, http.StatusGatewayTimeout:
		return e.StatusCode, e.RetryAfter
	}
	return http.StatusBadGateway, 0
}
