package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// Phase is the part of a call that ran out of time.
type Phase string

// The bounds of a call.
const (
	PhaseConnect  Phase = "connect"   // no connection within Plan.Attempt or Once; nothing was sent
	PhaseAttempt  Phase = "attempt"   // no response headers within Plan.Attempt or Once
	PhaseDeadline Phase = "deadline"  // the whole call, within Plan.Deadline
	PhaseBodyIdle Phase = "body idle" // no progress of a body, the response's or the request's, within Plan.BodyIdle
)

// TimeoutError says that a bound of this client, not of the caller's context,
// ended a call. Timeout returns true, and errors.Is(err,
// context.DeadlineExceeded) holds.
type TimeoutError struct {
	Upstream string
	Phase    Phase
	Limit    time.Duration

	// Unread says that the response was there and nobody read it: the caller is
	// slow, or has leaked the body.
	Unread bool

	// Unsent says that the request's body gave nothing to send: a Read of it was
	// under way.
	Unsent bool

	// NoStream says that the connections stand, and the upstream allows no more
	// requests on them at a time (HTTP/2, SETTINGS_MAX_CONCURRENT_STREAMS).
	NoStream bool

	outcome telemetry.Outcome // what the wait was for, if not a response; 0 for that
}

// Error names the bound and its length.
func (e *TimeoutError) Error() string {
	what := map[Phase]string{
		PhaseConnect:  "no connection within its attempt",
		PhaseAttempt:  "no response within its attempt",
		PhaseDeadline: "not done within Plan.Deadline",
		PhaseBodyIdle: "body without progress for Plan.BodyIdle",
	}[e.Phase]
	if e.NoStream {
		what = "no stream on a connection of HTTP/2, which the upstream allows too few of, within its attempt"
	}
	if e.Unread {
		what += " (nobody reads or closes it)"
	}
	if e.Unsent {
		what += " (the request's body gives nothing to send)"
	}
	return fmt.Sprintf("httpclient: %s: %s of %v", e.Upstream, what, e.Limit)
}

// Timeout is true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary is true: with it a TimeoutError is a net.Error.
func (e *TimeoutError) Temporary() bool { return true }

// Answer is 504 for whoever asked this service, or 408 if it was his own upload that
// gave nothing to send: see admission.Answer.
func (e *TimeoutError) Answer() (status int, retryAfter time.Duration) {
	if e.Unsent {
		return http.StatusRequestTimeout, 0
	}
	return http.StatusGatewayTimeout, 0
}

// Is reports that a TimeoutError is a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// HostError says that a request was not for this client's upstream. Nothing was
// sent.
type HostError struct {
	Upstream string // the client's own
	Refused  string // the request's
}

// Error names both.
func (e *HostError) Error() string {
	return fmt.Sprintf("httpclient: %s is not a host of the upstream %s; list it in Options.Hosts, or make a client for it", e.Refused, e.Upstream)
}

// RedirectError says that a redirect was not followed further. The response that
// asked for it comes with it, as http.Client has it.
type RedirectError struct {
	Location string
	Hops     int    // followed before this one
	upstream string // the client's own, if Location is not of it
}

// Error says why not.
func (e *RedirectError) Error() string {
	if e.upstream != "" {
		return fmt.Sprintf("httpclient: redirect to %s leaves the upstream %s; list its host in Options.Hosts, or take the redirect as a response", e.Location, e.upstream)
	}
	return fmt.Sprintf("httpclient: stopped after %d redirects, before %s", e.Hops, e.Location)
}

// BodyLimitError says that a response body is longer than Options.MaxBody.
type BodyLimitError struct {
	Upstream string
	Limit    int64
}

// Error names the limit.
func (e *BodyLimitError) Error() string {
	return fmt.Sprintf("httpclient: %s: response body of more than %d bytes (Options.MaxBody)", e.Upstream, e.Limit)
}

// HeaderLimitError says that the headers of a response are longer than
// Options.MaxHeader. It wraps the error of net/http.
type HeaderLimitError struct {
	Upstream string
	Limit    int64
	Err      error
}

// Error names the limit.
func (e *HeaderLimitError) Error() string {
	return fmt.Sprintf("httpclient: %s: response headers of more than %d bytes (Options.MaxHeader)", e.Upstream, e.Limit)
}

// Unwrap returns the error of net/http.
func (e *HeaderLimitError) Unwrap() error { return e.Err }

// CallerError says that a call failed by what its caller gave it: the request's
// body could not be read, or not be had again. It is no failure of the upstream.
type CallerError struct {
	Upstream string
	Err      error // what the body returned
}

// Error is the caller's own, and where it came from.
func (e *CallerError) Error() string {
	return fmt.Sprintf("httpclient: %s: the request's body failed: %v", e.Upstream, e.Err)
}

// Unwrap returns what the body returned.
func (e *CallerError) Unwrap() error { return e.Err }

// Answer is 400 for whoever asked this service, 413 if the body was over its
// http.MaxBytesReader, 408 if it came too slowly, or 499 if its sender has left: see
// admission.Answer.
func (e *CallerError) Answer() (status int, retryAfter time.Duration) {
	if _, ok := errors.AsType[*http.MaxBytesError](e.Err); ok {
		return http.StatusRequestEntityTooLarge, 0
	}
	switch {
	case errors.Is(e.Err, context.Canceled):
		return 499, 0 // nginx's code for a client that has left
	case e.Timeout():
		return http.StatusRequestTimeout, 0
	}
	return http.StatusBadRequest, 0
}

// Timeout says whether the body ran out of time, for url.Error.
func (e *CallerError) Timeout() bool { return timedOut(e.Err) }

// Temporary is Timeout, for net.Error.
func (e *CallerError) Temporary() bool { return e.Timeout() }

// StatusError is a response that was retried, as the earlier cause in a
// [*RetryError]. A response that is returned is never turned into one.
type StatusError struct {
	Code int
}

// Error names the code.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Code) }

// OneShotError says that a call failed which might have been sent again, if its
// body could be read again: set Request.GetBody, as http.NewRequest does for
// bytes and strings. It wraps what the one attempt ended with.
type OneShotError struct {
	Err error
}

// Error names both.
func (e *OneShotError) Error() string {
	return fmt.Sprintf("%v (not sent again: the body can be read only once; set Request.GetBody)", e.Err)
}

// Unwrap returns the cause.
func (e *OneShotError) Unwrap() error { return e.Err }

// Timeout says whether the attempt ran out of time, for url.Error.
func (e *OneShotError) Timeout() bool { return timedOut(e.Err) }

// Temporary is Timeout, for net.Error.
func (e *OneShotError) Temporary() bool { return e.Timeout() }

// RetryError says that a call was sent more than once and still failed.
// errors.Is and As find both the last error and what the attempt before it ended
// with.
type RetryError struct {
	Attempts int
	Err      error // what ended the call
	Earlier  error // how the attempt before ended; may be a *StatusError
}

// Error names the attempts and both causes, and one that they share once.
func (e *RetryError) Error() string {
	if e.Err.Error() == e.Earlier.Error() {
		return fmt.Sprintf("after %d attempts: %v (and the same before that)", e.Attempts, e.Err)
	}
	return fmt.Sprintf("after %d attempts: %v (before that: %v)", e.Attempts, e.Err, e.Earlier)
}

// Unwrap returns both causes.
func (e *RetryError) Unwrap() []error { return []error{e.Err, e.Earlier} }

// Timeout says whether the last attempt ran out of time, for url.Error.
func (e *RetryError) Timeout() bool { return timedOut(e.Err) }

// Temporary is Timeout, for net.Error.
func (e *RetryError) Temporary() bool { return e.Timeout() }

func timedOut(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}
