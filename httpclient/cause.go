package httpclient

import "context"

// causeOf is why a context that has ended did: as context.Cause has it, and found
// by errors.Is as context.Canceled or context.DeadlineExceeded too.
func causeOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return &causeError{err: err, cause: cause}
}

// causeError is a context that ended for a cause that its owner has stated.
type causeError struct{ err, cause error }

// Error is the cause's.
func (e *causeError) Error() string { return e.cause.Error() }

// Unwrap returns how the context ended, and the cause.
func (e *causeError) Unwrap() []error { return []error{e.err, e.cause} }

// Timeout says whether it was a deadline, for url.Error.
func (e *causeError) Timeout() bool { return timedOut(e.err) }

// Temporary is Timeout, for net.Error.
func (e *causeError) Temporary() bool { return e.Timeout() }
