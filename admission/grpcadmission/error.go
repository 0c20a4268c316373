package grpcadmission

import (
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/offtake-go/offtake/internal/verdict"
	_ "github.com/offtake-go/offtake/internal/verdict/grpcverdict" // reads statuses
)

// Error is what a handler returns when its call of an upstream failed with err, of
// either client: admission.Answer in the words of gRPC.
//
//   - Busy, here or there, is RESOURCE_EXHAUSTED with RetryInfo, of 1 s if nobody has
//     said when.
//   - A process that drains, and an upstream that is broken, are UNAVAILABLE.
//   - A deadline is DEADLINE_EXCEEDED, and a caller that has left CANCELED.
//   - What the caller's own message can't be sent on for is INVALID_ARGUMENT.
//   - nil is nil.
//
// The messages are fixed texts: no word of err is in them. RetryInfo has the caller
// come again: a handler that has begun something which must not be done twice returns
// a status of its own.
func Error(err error) error {
	if err == nil {
		return nil
	}
	switch httpStatus, wait := verdict.Of(err); httpStatus {
	case http.StatusTooManyRequests:
		if wait == 0 {
			wait = unknown
		}
		busy, err := newStatus(codes.ResourceExhausted, "the server is busy",
			&errdetails.ErrorInfo{Reason: Reason, Domain: Domain},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(min(wait, delays[len(delays)-1]))})
		if err != nil {
			return status.Error(codes.ResourceExhausted, "the server is busy")
		}
		return busy
	case http.StatusServiceUnavailable: // without ReasonDraining, which says that nothing was begun
		return status.Error(codes.Unavailable, "the server is shutting down")
	case http.StatusGatewayTimeout:
		return status.Error(codes.DeadlineExceeded, "the time for this call ran out")
	case verdict.ClientClosed:
		return status.Error(codes.Canceled, "the caller has left")
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return status.Error(codes.InvalidArgument, "this call can't be passed on as it is")
	}
	return status.Error(codes.Unavailable, "a service that this call needs did not answer as it should")
}
