package grpcclient

import (
	"errors"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/internal/verdict/grpcverdict"
)

// Domain is that of every google.rpc.ErrorInfo of this module, the server's too.
const Domain = "github.com/offtake-go/offtake"

// Reason tells errors apart that have the same code.
type Reason string

// Reasons of errors of this client, and of an upstream with the door of package
// grpcadmission. Those that begin with CLIENT, and those before InServer, say that
// nothing was sent; those that begin with SERVER, that nothing was begun.
const (
	QueueFull     Reason = "CLIENT_QUEUE_FULL"    // RESOURCE_EXHAUSTED: refused here, at once
	QueueTimeout  Reason = "CLIENT_QUEUE_TIMEOUT" // RESOURCE_EXHAUSTED: refused here, after the wait or instead of it
	ClientClosed  Reason = "CLIENT_CLOSED"        // UNAVAILABLE: refused here, for good
	NoConnection  Reason = "NO_READY_CONNECTION"  // UNAVAILABLE
	InQueue       Reason = "IN_CLIENT_QUEUE"      // out of time, or canceled, there
	InResolve     Reason = "IN_NAME_RESOLUTION"
	InConnect     Reason = "IN_CONNECT"
	InCredentials Reason = "IN_CREDENTIALS"
	InQuota       Reason = "IN_STREAM_QUOTA"
	InServer      Reason = "IN_SERVER"

	ServerBusy     Reason = "SERVER_BUSY"       // RESOURCE_EXHAUSTED: refused by the upstream, with a word on when to come back
	ServerDraining Reason = "SERVER_DRAINING"   // UNAVAILABLE: refused by the upstream, which is shutting down
	Unsendable     Reason = "UNSENDABLE"        // INTERNAL or RESOURCE_EXHAUSTED: the caller's own fault, of a RequestError
	TooLarge       Reason = "MESSAGE_TOO_LARGE" // RESOURCE_EXHAUSTED: a message over a limit on its size, here or there
	ProxyBusy      Reason = "PROXY_BUSY"        // UNAVAILABLE: an HTTP 429 from a proxy
)

// ReasonOf reads the reason of an error, or "" for one that needs none. It knows
// a busy upstream of another make by its google.rpc.RetryInfo.
func ReasonOf(err error) Reason {
	if retried, ok := errors.AsType[*RetryError](err); ok {
		err = retried.Err
	}
	s, ok := status.FromError(err)
	if !ok {
		return ""
	}
	retry := false
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == Domain {
				return Reason(d.GetReason())
			}
		case *errdetails.RetryInfo:
			retry = true
		}
	}
	switch {
	case s.Code() == codes.ResourceExhausted && retry:
		return ServerBusy
	case s.Code() == codes.ResourceExhausted && grpcverdict.TooLarge(s.Message()):
		return TooLarge
	case s.Code() == codes.Unavailable && grpcverdict.ProxyBusy(s.Message()):
		return ProxyBusy
	}
	return ""
}

// These two are asked only where no byte has come from the server, so that what it says
// can't be taken for them. grpc-go gives them nothing but their text.

func unencodable(message string) bool {
	return strings.HasPrefix(message, "grpc: error while marshaling") || strings.HasPrefix(message, "grpc: error while compressing")
}

func unsendable(message string) bool {
	return strings.HasPrefix(message, "trying to send message larger than max")
}

func (s Stage) reason() Reason {
	switch s {
	case StageQueue:
		return InQueue
	case StageResolve:
		return InResolve
	case StageConnect:
		return InConnect
	case StageCredentials:
		return InCredentials
	case StageQuota:
		return InQuota
	}
	return InServer
}

// withReason is a status that says why.
func withReason(code codes.Code, message string, reason Reason) *status.Status {
	s := status.New(code, message)
	if detailed, err := s.WithDetails(&errdetails.ErrorInfo{Reason: string(reason), Domain: Domain}); err == nil {
		return detailed
	}
	return s
}
