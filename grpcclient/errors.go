package grpcclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Phase is the bound of a call that ran out.
type Phase string

// The bounds of a call.
const (
	PhaseAttempt  Phase = "attempt"     // no answer, or no open stream, within Plan.Attempt or Once
	PhaseDeadline Phase = "deadline"    // the whole call, within Plan.Deadline
	PhaseIdle     Phase = "stream idle" // no progress of a stream within Plan.BodyIdle
	PhaseLifetime Phase = "lifetime"    // a stream, within Options.Lifetime
)

// Stage is how far a call had come.
type Stage string

// The stages of a call, in their order.
const (
	StageQueue       Stage = "queue"           // for a place; nothing was sent
	StageResolve     Stage = "name resolution" // for the first addresses; nothing was sent
	StageConnect     Stage = "connection"      // for a connection that is ready; nothing was sent
	StageCredentials Stage = "credentials"     // for those of the call; nothing was sent
	StageQuota       Stage = "stream quota"    // for a stream on it; nothing was sent
	StageServer      Stage = "server"          // sent: for the answer
	StageSent        Stage = "sent"            // beyond the connection, with a load-balancing policy that is not ours
)

// TimeoutError says that a bound of this client, not of the caller's context,
// ended a call. Its code is DEADLINE_EXCEEDED, Timeout returns true, and
// errors.Is(err, context.DeadlineExceeded) holds.
type TimeoutError struct {
	Upstream string
	Phase    Phase
	Limit    time.Duration
	Stage    Stage
	Err      error // what is wrong with the connections; nil beyond StageConnect
}

// Error names the bound, its length, and how far the call had come.
func (e *TimeoutError) Error() string {
	what := map[Phase]string{
		PhaseAttempt:  "no answer within its attempt",
		PhaseDeadline: "not done within Plan.Deadline",
		PhaseIdle:     "stream without progress for Plan.BodyIdle",
		PhaseLifetime: "stream not done within Options.Lifetime",
	}[e.Phase]
	return fmt.Sprintf("grpcclient: %s: %s of %v, at the stage %q%s", e.Upstream, what, e.Limit, e.Stage, because(e.Err))
}

// Timeout is true.
func (e *TimeoutError) Timeout() bool { return true }

// Temporary is true: with it a TimeoutError is a net.Error.
func (e *TimeoutError) Temporary() bool { return true }

// Is reports that a TimeoutError is a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Unwrap returns what is wrong with the connections.
func (e *TimeoutError) Unwrap() error { return e.Err }

// GRPCStatus is DEADLINE_EXCEEDED with the stage as its reason.
func (e *TimeoutError) GRPCStatus() *status.Status {
	return withReason(codes.DeadlineExceeded, e.Error(), e.Stage.reason())
}

// ContextError says that the caller's context ended a call, or Conn.Close did. Its
// code is CANCELED or DEADLINE_EXCEEDED, and it wraps the context's cause.
type ContextError struct {
	Upstream string
	Stage    Stage
	Err      error // the context's error, or its cause if that says more
	Connect  error // what is wrong with the connections; nil beyond StageConnect

	code codes.Code
}

// Error names how far the call had come, and the cause.
func (e *ContextError) Error() string {
	return fmt.Sprintf("grpcclient: %s: %v, at the stage %q%s", e.Upstream, e.Err, e.Stage, because(e.Connect))
}

// Timeout says whether it was the context's deadline.
func (e *ContextError) Timeout() bool { return e.code == codes.DeadlineExceeded }

// Temporary is Timeout, for net.Error.
func (e *ContextError) Temporary() bool { return e.Timeout() }

// Is reports that a ContextError is what ended the context, whatever its cause.
func (e *ContextError) Is(target error) bool {
	if e.code == codes.DeadlineExceeded {
		return target == context.DeadlineExceeded
	}
	return target == context.Canceled
}

// Unwrap returns the cause, and what is wrong with the connections.
func (e *ContextError) Unwrap() []error {
	if e.Connect == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Connect}
}

// GRPCStatus is CANCELED or DEADLINE_EXCEEDED with the stage as its reason.
func (e *ContextError) GRPCStatus() *status.Status {
	return withReason(e.code, e.Error(), e.Stage.reason())
}

// ConnectError says that no connection was ready for a call. Nothing was sent. Its
// code is UNAVAILABLE: this is an outage and no load, even if the queue is full.
type ConnectError struct {
	Upstream string
	Err      error // what is wrong with the connections
}

// Error names the cause.
func (e *ConnectError) Error() string {
	return fmt.Sprintf("grpcclient: %s: no connection is ready%s", e.Upstream, because(e.Err))
}

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// Answer is 502 for whoever asked this service: see admission.Answer.
func (e *ConnectError) Answer() (status int, retryAfter time.Duration) {
	return http.StatusBadGateway, 0
}

// GRPCStatus is UNAVAILABLE.
func (e *ConnectError) GRPCStatus() *status.Status {
	return withReason(codes.Unavailable, e.Error(), NoConnection)
}

// RequestError says that the caller's own message, metadata or credentials could not
// be sent: a string that is no UTF-8, a message over grpc.MaxCallSendMsgSize, metadata
// over the server's limit. The upstream has done nothing, is not blamed for it, and is
// not asked again. The code is grpc-go's, INTERNAL or RESOURCE_EXHAUSTED.
type RequestError struct {
	Upstream string
	Err      error // grpc-go's
}

// Error names the cause.
func (e *RequestError) Error() string {
	return fmt.Sprintf("grpcclient: %s: the call can't be sent: %v", e.Upstream, e.Err)
}

// Unwrap returns grpc-go's error.
func (e *RequestError) Unwrap() error { return e.Err }

// TooLarge says whether it is the size of the message.
func (e *RequestError) TooLarge() bool { return status.Code(e.Err) == codes.ResourceExhausted }

// Answer is 400 for whoever asked this service, or 413: see admission.Answer.
func (e *RequestError) Answer() (status int, retryAfter time.Duration) {
	if e.TooLarge() {
		return http.StatusRequestEntityTooLarge, 0
	}
	return http.StatusBadRequest, 0
}

// GRPCStatus is grpc-go's, with a reason.
func (e *RequestError) GRPCStatus() *status.Status {
	reason := Unsendable
	if e.TooLarge() {
		reason = TooLarge
	}
	return withReason(status.Code(e.Err), e.Error(), reason)
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// RetryError says that a call was sent more than once and still failed. errors.Is
// and As find both the last error and what the attempt before it ended with; the
// status is the last one's.
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

// Timeout says whether the last attempt ran out of time.
func (e *RetryError) Timeout() bool {
	t, ok := e.Err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// Temporary is Timeout, for net.Error.
func (e *RetryError) Temporary() bool { return e.Timeout() }

// GRPCStatus is the last error's, with the message of this one.
func (e *RetryError) GRPCStatus() *status.Status {
	s := status.Convert(e.Err).Proto()
	s.Message = e.Error()
	return status.FromProto(s)
}

// dialError is a connection that did not come to be.
type dialError struct {
	address string
	tls     bool
	err     error
}

func (e *dialError) Error() string {
	if _, plain := errors.AsType[tls.RecordHeaderError](e.err); plain {
		return fmt.Sprintf("%s: TLS handshake: %v; if the server has no TLS, Options.Credentials of insecure.NewCredentials() would do", e.address, e.err)
	}
	if e.tls {
		return fmt.Sprintf("%s: TLS handshake: %v", e.address, e.err)
	}
	return fmt.Sprintf("%s: %v", e.address, e.err)
}

func (e *dialError) Unwrap() error { return e.err }

var (
	errNoAddresses = errors.New("the name resolves to no address")
	errConnecting  = errors.New("still connecting")
	errVain        = errors.New("the server ends each connection soon after it has begun, and before an answer")
)
