package grpcadmission

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/offtake-go/offtake"
)

// What google.rpc.ErrorInfo says of a refusal.
const (
	Domain         = "github.com/offtake-go/offtake"
	Reason         = "SERVER_BUSY"     // with RESOURCE_EXHAUSTED
	ReasonDraining = "SERVER_DRAINING" // with UNAVAILABLE
)

// pushbackKey is of the gRFC A6: a delay in milliseconds, or −1 for no retry.
const pushbackKey = "grpc-retry-pushback-ms"

// delays are what a refused caller may be told; an estimate is rounded up to the
// next. Few of them, so that each refusal is made beforehand: to say no must stay
// cheap when everybody has to be told.
var delays = [...]time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// unknown is the delay for a door that has no estimate yet, as Retry-After has it.
const unknown = time.Second

// answers are all that a refused call can be told.
type answers struct {
	busy     [len(delays)]busy
	hopeless metadata.MD // no retry: it would come after the deadline
	draining error
}

type busy struct {
	err      error
	pushback metadata.MD
}

func newAnswers() (answers, error) {
	a := answers{hopeless: metadata.Pairs(pushbackKey, "-1")}
	var errs [len(delays) + 1]error
	for i, delay := range delays {
		a.busy[i].err, errs[i] = newStatus(codes.ResourceExhausted, "the server is busy",
			&errdetails.ErrorInfo{Reason: Reason, Domain: Domain},
			&errdetails.RetryInfo{RetryDelay: durationpb.New(delay)})
		a.busy[i].pushback = metadata.Pairs(pushbackKey, strconv.FormatInt(delay.Milliseconds(), 10))
	}
	a.draining, errs[len(delays)] = newStatus(codes.Unavailable, "the server is shutting down",
		&errdetails.ErrorInfo{Reason: ReasonDraining, Domain: Domain})
	return a, errors.Join(errs[:]...)
}

// newStatus returns a status as an error, or in the second place what keeps its
// details from being encoded.
func newStatus(code codes.Code, message string, details ...protoadapt.MessageV1) (refusal, err error) {
	s, err := status.New(code, message).WithDetails(details...)
	if err != nil {
		return nil, err
	}
	return s.Err(), nil
}

// to is the status for an error of the door, and the trailer with it.
func (a *answers) to(ctx context.Context, err error) (metadata.MD, error) {
	refusal, ok := errors.AsType[*offtake.Error](err)
	switch {
	case !ok:
		return nil, status.FromContextError(ctx.Err()).Err()
	case errors.Is(refusal, offtake.ErrClosed):
		return nil, a.draining
	}
	wait := refusal.RetryAfter
	if wait == 0 {
		wait = unknown
	}
	i, _ := slices.BinarySearch(delays[:], wait)
	i = min(i, len(delays)-1)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= delays[i] {
		return a.hopeless, a.busy[i].err
	}
	return a.busy[i].pushback, a.busy[i].err
}
