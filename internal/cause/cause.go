// Package cause says why a context has ended, in the one way of all clients.
package cause

import "context"

// Of is why a context that has ended did: as context.Cause has it, and found by
// errors.Is as context.Canceled or context.DeadlineExceeded too.
func Of(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == err {
		return err
	}
	return &stated{err: err, cause: cause}
}

// stated is a context that ended for a cause that its owner has stated.
type stated struct{ err, cause error }

// Error is the cause's.
func (e *stated) Error() string { return e.cause.Error() }

// Unwrap returns how the context ended, and the cause.
func (e *stated) Unwrap() []error { return []error{e.err, e.cause} }

// Timeout says whether it was a deadline, for url.Error.
func (e *stated) Timeout() bool { return e.err == context.DeadlineExceeded }

// Temporary is Timeout, for net.Error.
func (e *stated) Temporary() bool { return e.Timeout() }
