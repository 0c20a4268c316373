package grpcupstream

import (
	"context"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Step decides on one call before its handler runs: nil lets it through, and
// anything else is the answer. A step of one's own is a function like any.
type Step func(ctx context.Context) error

// OK lets the handler answer.
func OK() Step { return func(context.Context) error { return nil } }

// Fail answers with a code.
func Fail(code codes.Code) Step {
	return func(context.Context) error { return status.Error(code, "as the script has it") }
}

// Slow takes a time before next decides, unless its caller leaves before.
func Slow(d time.Duration, next Step) Step {
	return func(ctx context.Context) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return next(ctx)
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	}
}

// Hang never answers: it ends when its caller leaves, or with the test.
func Hang() Step {
	return func(ctx context.Context) error {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
}

// Busy answers RESOURCE_EXHAUSTED and asks for a pause by RetryInfo; 0 asks for none.
func Busy(retryAfter time.Duration) Step {
	return func(context.Context) error {
		s := status.New(codes.ResourceExhausted, "busy")
		if retryAfter > 0 {
			if with, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}); err == nil {
				s = with
			}
		}
		return s.Err()
	}
}

// Reset ends the connection of the call, with all that is on it.
func Reset() Step {
	return func(ctx context.Context) error {
		of(ctx).closeConns()
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
}

// GoAway has next decide, and the connections take no more calls: their clients see
// GOAWAY, calls that run finish, and others dial anew.
func GoAway(next Step) Step {
	return func(ctx context.Context) error {
		of(ctx).goAway()
		return next(ctx)
	}
}
