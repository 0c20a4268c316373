package grpcupstream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
)

type service struct {
	testpb.UnimplementedTestServiceServer
}

func (service) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

func register(s *grpc.Server) { testpb.RegisterTestServiceServer(s, service{}) }

const method = "/grpc.testing.TestService/EmptyCall"

func once() capacity.Plan {
	return capacity.Plan{InFlight: 2, Attempt: 500 * time.Millisecond, Deadline: time.Second, Attempts: capacity.NoRetry}
}

// wantCode has one call, which is not repeated, end with a code.
func wantCode(t *testing.T, u *Upstream, want codes.Code) {
	t.Helper()
	_, err := testpb.NewTestServiceClient(u.Conn(t, once(), nil)).EmptyCall(t.Context(), &testpb.Empty{})
	if got := status.Code(err); got != want {
		t.Errorf("EmptyCall() = %v, want %v", err, want)
	}
	u.WantSent(t, method)
}

func TestEachStepIsItsTrouble(t *testing.T) {
	for name, tt := range map[string]struct {
		step Step
		want codes.Code
	}{
		"ok":       {OK(), codes.OK},
		"fail":     {Fail(codes.Internal), codes.Internal},
		"slow":     {Slow(100*time.Millisecond, OK()), codes.OK},
		"too slow": {Slow(time.Minute, OK()), codes.DeadlineExceeded},
		"hang":     {Hang(), codes.DeadlineExceeded},
		"busy":     {Busy(time.Second), codes.ResourceExhausted},
		"reset":    {Reset(), codes.Unavailable},
		"go away":  {GoAway(OK()), codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, Loopback(t, register, tt.step), tt.want)
		})
		t.Run(name+" in a bubble", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				wantCode(t, Pipes(t, register, tt.step), tt.want)
			})
		})
	}
}

func TestAfterGoAwayTheNextCallIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := Pipes(t, register, GoAway(OK()), OK())
		client := testpb.NewTestServiceClient(u.Conn(t, capacity.Plan{}, nil))
		for range 3 {
			if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
				t.Errorf("EmptyCall() = %v, want nil", err)
			}
		}
		u.WantSent(t, method, method, method)
	})
}

func TestABadEndpointRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := Pipes(t, register)
		u.Refuse(true)
		client := testpb.NewTestServiceClient(u.Conn(t, once(), nil))
		if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); status.Code(err) != codes.Unavailable && status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("EmptyCall() = %v, want it to fail", err)
		}
		u.WantSent(t)
	})
}
