package grpcclient

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
	"github.com/offtake-go/offtake/internal/verdict/grpcverdict"
)

// bound is a limit of this client, as the cause of a context that it ended.
type bound struct {
	phase Phase
	limit time.Duration
}

func (b *bound) Error() string { return string(b.phase) + " of " + b.limit.String() }

// Is has the cause be what the standard library would have it be.
func (b *bound) Is(target error) bool { return target == context.DeadlineExceeded }

// over says whether a context has ended, or is about to in this instant: the server
// has the same deadline, and may be the first to say so.
func over(ctx context.Context) (codes.Code, bool) {
	switch ctx.Err() {
	case nil:
		if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
			return codes.DeadlineExceeded, true
		}
		return codes.OK, false
	case context.DeadlineExceeded:
		return codes.DeadlineExceeded, true
	default:
		return codes.Canceled, true
	}
}

// contextError is the end of a call by its caller.
func (c *core) contextError(ctx context.Context, at Stage) error {
	e := &ContextError{Upstream: c.name, Stage: at, Err: context.Cause(ctx)}
	e.code, _ = over(ctx)
	if e.Err == nil {
		e.Err = context.DeadlineExceeded
	}
	if at == StageResolve || at == StageConnect {
		e.Connect = c.pool.cause()
	}
	return e
}

// closedError is the end of a call by Close. To grpc-go it is CANCELED, or a
// transport that failed, whichever is sooner.
func (c *core) closedError(at Stage) error {
	return &ContextError{Upstream: c.name, Stage: at, Err: errClosed, code: codes.Canceled}
}

// errClosed is not offtake.ErrClosed, which says that nothing was sent.
var errClosed = errors.New("the client was closed")

// timeoutError is the end of a call by a bound of this client.
func (c *core) timeoutError(b *bound, at Stage) error {
	e := &TimeoutError{Upstream: c.name, Phase: b.phase, Limit: b.limit, Stage: at}
	if at == StageResolve || at == StageConnect {
		e.Err = c.pool.cause()
	}
	return e
}

// explain turns the error of grpc-go into what the caller is to see. What the
// server said stays as it is. Credentials of a call that were not had in time are
// UNAUTHENTICATED to grpc-go.
func (a *attempt) explain(caller context.Context, err error) error {
	c := a.core
	if err == io.EOF {
		err = errCut
	}
	code := status.Code(err)
	if code == codes.Unknown { // an interceptor's may be no status
		code = status.FromContextError(err).Code()
	}
	switch {
	case code == codes.Canceled || code == codes.DeadlineExceeded || code == codes.Unauthenticated && a.unsent():
		// Whoever was first ended it, and it is too late to ask the caller's context
		// alone: that may have ended since. A bound in the caller's own context is one
		// of another client, in whose call this one is made.
		if b, ok := context.Cause(a).(*bound); ok && context.Cause(caller) != error(b) { //nolint:errorlint // it is put there as it is
			return c.timeoutError(b, a.stage())
		}
		if _, ended := over(caller); ended {
			return c.contextError(caller, a.stage())
		}
		if how, ended := over(a); ended && how == codes.DeadlineExceeded { // the server was faster than our timer
			return c.timeoutError(a.due, a.stage())
		}
		if code == codes.Canceled && c.pool.over() {
			return c.closedError(a.stage())
		}
	case code == codes.Unavailable && c.pool.over():
		return c.closedError(a.stage())
	case code == codes.Unavailable && c.balancing.own && !a.has(markPicked) && c.pool.ready.Load() == 0:
		return &ConnectError{Upstream: c.name, Err: c.pool.cause()}
	case a.ownFault(status.Convert(err)):
		return &RequestError{Upstream: c.name, Err: err}
	}
	return err
}

// ownFault says whether it is the caller's: what it gave can't be sent, and the
// upstream has not been asked. grpc-go has the codes of a broken server for it.
func (a *attempt) ownFault(s *status.Status) bool {
	switch s.Code() {
	case codes.Internal: // metadata over the server's limit, credentials that can't be had, or a message
		return a.unsent() && a.has(markPicked) || !a.has(markReceived) && unencodable(s.Message())
	case codes.ResourceExhausted:
		return !a.has(markReceived) && unsendable(s.Message())
	}
	return false
}

// errCut is the end of a call that grpc-go had sent again, on a connection that ended
// before the message was written. It takes this for io.EOF (1.85), and so for the end
// of a stream that was read to its end, though there was no answer.
var errCut = status.Error(codes.Unavailable, "grpcclient: the connection ended before there was an answer")

// errPanicked is the end of a call that something of the user's panicked in. Nobody but
// metrics and traces hears of it.
var errPanicked = status.Error(codes.Unknown, "grpcclient: an interceptor or a codec panicked")

// OutcomeOf is the label that an error of a call has in the metrics, wrapped or not: a
// word of this side in small letters, as "busy", "timeout", "canceled", "connect" or
// "caller", or the code that the other side has said in capitals, "OK" for nil. [ReasonOf]
// tells apart what has the same label; admission.Answer and grpcadmission.Error say how
// to answer it.
func OutcomeOf(err error) string {
	for at := err; at != nil; at = errors.Unwrap(at) {
		switch at.(type) { //nolint:errorlint // it walks
		case *refusal, *ContextError, *TimeoutError, *ConnectError, *RequestError, *RetryError:
			return outcomeOf(at).String()
		}
	}
	if _, ok := status.FromError(err); !ok {
		switch {
		case errors.Is(err, offtake.ErrBusy):
			return telemetry.Busy.String()
		case errors.Is(err, offtake.ErrClosed):
			return telemetry.Closed.String()
		case errors.Is(err, context.Canceled):
			return telemetry.Canceled.String()
		case errors.Is(err, context.DeadlineExceeded):
			return telemetry.Timeout.String()
		}
	}
	return outcomeOf(err).String()
}

// outcomeOf puts the error of a call into the closed set.
func outcomeOf(err error) telemetry.Outcome {
	switch e := err.(type) { //nolint:errorlint // they come from here as they are; what they wrap may be another client's
	case nil:
		return telemetry.CodeOK
	case *refusal:
		if e.cause.Reason == gate.Closed {
			return telemetry.Closed
		}
		return telemetry.Busy
	case *ContextError:
		if e.code == codes.Canceled {
			return telemetry.Canceled
		}
		return telemetry.Timeout
	case *TimeoutError:
		switch e.Stage {
		case StageResolve:
			return telemetry.DNS
		case StageConnect: // what hangs is no upstream that is slow
			return outcomeOfConnection(e.Err)
		}
		return telemetry.Timeout
	case *ConnectError:
		return outcomeOfConnection(e.Err)
	case *RequestError:
		return telemetry.Caller
	case *RetryError:
		return outcomeOf(e.Err)
	}
	s := status.Convert(err)
	switch {
	case s.Code() == codes.ResourceExhausted && grpcverdict.TooLarge(s.Message()):
		return telemetry.TooLarge
	case s.Code() == codes.Unavailable && grpcverdict.ProxyBusy(s.Message()):
		return telemetry.ProxyBusy
	}
	return telemetry.OfCode(uint32(s.Code()))
}

func outcomeOfConnection(err error) telemetry.Outcome {
	if dial, ok := errors.AsType[*dialError](err); ok {
		return dial.outcome()
	}
	if _, ok := errors.AsType[*resolveError](err); ok {
		return telemetry.DNS
	}
	return telemetry.Connect
}

// resolveError is a name that can't be resolved.
type resolveError struct{ err error }

func (e *resolveError) Error() string { return "name resolution: " + e.err.Error() }
func (e *resolveError) Unwrap() error { return e.err }
