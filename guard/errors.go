package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/cause"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// errPanic is how a function ended that did not return.
var errPanic = errors.New("guard: the function panicked")

// Phase is the bound of a plan that ended a call.
type Phase string

// The bounds of a call.
const (
	PhaseAttempt  Phase = "attempt"  // Plan.Attempt, or Plan.Once
	PhaseDeadline Phase = "deadline" // Plan.Deadline
)

// TimeoutError says that a bound of the plan, not of the caller's context, ended a
// call. Timeout returns true, and errors.Is(err, context.DeadlineExceeded) holds.
type TimeoutError struct {
	Upstream string
	Phase    Phase
	Limit    time.Duration
	Err      error // what the function returned
}

// Error names the bound and its length.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("guard: %s: not done within its %s of %v: %v", e.Upstream, e.Phase, e.Limit, e.Err)
}

// Timeout is true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary is true: with it a TimeoutError is a net.Error.
func (e *TimeoutError) Temporary() bool { return true }

// Is reports that a TimeoutError is a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Unwrap returns what the function returned.
func (e *TimeoutError) Unwrap() error { return e.Err }

// RetryError says that a function was called more than once and still failed.
// errors.Is and As find both the last error and that of the attempt before it.
type RetryError struct {
	Attempts int
	Err      error // what ended the call
	Earlier  error // how the attempt before ended
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

// blame says who ended an attempt that failed. An error that has nothing to do with
// a context passes as it is, even if a context has ended as well.
func (p *Place) blame(err, ended error, over bool) error {
	byDeadline := isTimeout(err)
	switch {
	case err == errPanic:
		return err
	case p.ctx.Err() != nil && (byDeadline || errors.Is(err, p.ctx.Err())):
		return cause.Of(p.ctx)
	case byDeadline && (over || ended == context.DeadlineExceeded):
		return &TimeoutError{Upstream: p.guard.options.Name, Phase: p.phase, Limit: p.limit, Err: err}
	}
	return err
}

// isTimeout says whether an error is that of a deadline: a driver may say so in
// words of its own, as a net.Error.
func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

// outcomeOf puts an error into the closed set.
func (g *Guard) outcomeOf(caller context.Context, err error) telemetry.Outcome {
	switch {
	case err == errPanic:
		return telemetry.Caller
	case errors.Is(err, offtake.ErrBusy):
		return telemetry.Busy
	case errors.Is(err, offtake.ErrClosed):
		return telemetry.Closed
	case isTimeout(err):
		return telemetry.Timeout
	case errors.Is(err, context.Canceled) && caller.Err() != nil:
		return telemetry.Canceled
	case g.options.Blameless != nil && g.options.Blameless(err):
		return telemetry.Caller
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return telemetry.DNS
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if op.Op == "dial" {
			return telemetry.Connect
		}
		return telemetry.Reset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return telemetry.Reset
	}
	return telemetry.Unknown
}
