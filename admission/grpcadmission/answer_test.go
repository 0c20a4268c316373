package grpcadmission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

// details are those of a refusal.
func details(err error) (reason, domain string, delay time.Duration) {
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			reason, domain = d.Reason, d.Domain
		case *errdetails.RetryInfo:
			delay = d.RetryDelay.AsDuration()
		}
	}
	return reason, domain, delay
}

func TestAFullDoorAnswersResourceExhaustedWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, one)
		client := testpb.NewTestServiceClient(start(t, newGuard(t, door, nil), &service{}, nil))
		defer take(t, door).Release()
		for name, call := range map[string]func(...grpc.CallOption) error{
			"unary": func(o ...grpc.CallOption) error {
				_, err := client.EmptyCall(t.Context(), &testpb.Empty{}, o...)
				return err
			},
			"stream": func(o ...grpc.CallOption) error {
				stream, err := client.FullDuplexCall(t.Context(), o...)
				if err != nil {
					return err
				}
				_, err = stream.Recv()
				return err
			},
		} {
			var header, trailer metadata.MD
			err := call(grpc.Header(&header), grpc.Trailer(&trailer))
			reason, domain, delay := details(err)
			if status.Code(err) != codes.ResourceExhausted || reason != Reason || domain != Domain || delay != time.Second {
				t.Errorf("%s: %v with %q, %q, %v, want RESOURCE_EXHAUSTED with %q, %q, 1s", name, err, reason, domain, delay, Reason, Domain)
			}
			if got := trailer.Get(pushbackKey); len(got) != 1 || got[0] != "1000" {
				t.Errorf("%s: pushback = %v, want 1000", name, got)
			}
			if len(header) != 0 {
				t.Errorf("%s: header = %v, want none before the verdict", name, header)
			}
		}
	})
}

func TestAPushbackBeyondTheDeadlineIsNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, one)
		// grpc's own retries, which the pushback must keep from sleeping.
		conn := start(t, newGuard(t, door, nil), &service{}, nil, grpc.WithDefaultServiceConfig(`{"methodConfig":[{"name":[{}],
			"retryPolicy":{"maxAttempts":3,"initialBackoff":"0.01s","maxBackoff":"0.01s","backoffMultiplier":1,"retryableStatusCodes":["RESOURCE_EXHAUSTED"]}}]}`))
		client := testpb.NewTestServiceClient(conn)
		place := take(t, door)

		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
		defer cancel()
		var trailer metadata.MD
		_, err := client.EmptyCall(ctx, &testpb.Empty{}, grpc.Trailer(&trailer))
		if status.Code(err) != codes.ResourceExhausted || time.Since(start) != 0 {
			t.Errorf("call with 900ms left = %v after %v, want RESOURCE_EXHAUSTED at once", err, time.Since(start))
		}
		if got := trailer.Get(pushbackKey); len(got) != 1 || got[0] != "-1" {
			t.Errorf("pushback with 900ms left = %v, want -1", got)
		}

		time.AfterFunc(500*time.Millisecond, place.Release)
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil || time.Since(start) != time.Second {
			t.Errorf("call with 5s left = %v after %v, want nil after its retry at 1s", err, time.Since(start))
		}
	})
}

func TestTheDelayIsTheEstimateRoundedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, one)
		client := testpb.NewTestServiceClient(start(t, newGuard(t, door, nil), &service{}, nil))
		place := take(t, door)
		<-time.After(120 * time.Millisecond)
		place.Release()
		defer take(t, door).Release()
		_, err := client.EmptyCall(t.Context(), &testpb.Empty{})
		if _, _, delay := details(err); delay != 200*time.Millisecond {
			t.Errorf("delay with one place of 120ms = %v, want 200ms", delay)
		}
	})
}

func TestTheLongestDelayIsTheLongestThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := newAnswers()
		if err != nil {
			t.Fatal(err)
		}
		busy := func(ctx context.Context, after time.Duration) string {
			trailer, err := a.to(ctx, &offtake.Error{RetryAfter: after, Err: offtake.ErrBusy})
			if status.Code(err) != codes.ResourceExhausted {
				t.Errorf("answer = %v, want RESOURCE_EXHAUSTED", err)
			}
			return trailer.Get(pushbackKey)[0]
		}
		for _, tt := range []struct {
			after, left time.Duration
			want        string
		}{
			{time.Hour, 0, "30000"},
			{30 * time.Second, 0, "30000"},
			{20 * time.Millisecond, 0, "20"},
			{time.Second, time.Second, "-1"}, // it would come just when time is up
			{time.Second, time.Second + 1, "1000"},
		} {
			ctx := t.Context()
			if tt.left > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tt.left)
				defer cancel()
			}
			if got := busy(ctx, tt.after); got != tt.want {
				t.Errorf("pushback for %v with %v left = %s, want %s", tt.after, tt.left, got, tt.want)
			}
		}
	})
}

func TestOnlyADrainingDoorIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, one)
		client := testpb.NewTestServiceClient(start(t, newGuard(t, door, nil), &service{}, nil))
		if err := door.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := client.EmptyCall(t.Context(), &testpb.Empty{})
		if reason, domain, _ := details(err); status.Code(err) != codes.Unavailable || reason != ReasonDraining || domain != Domain {
			t.Errorf("draining: %v with %q, %q, want UNAVAILABLE with %q, %q", err, reason, domain, ReasonDraining, Domain)
		}
	})
}

func TestADeadlineInTheQueueIsADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Second})
		g := newGuard(t, door, nil)
		defer take(t, door).Release()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		never := func(context.Context, any) (any, error) { t.Error("the handler ran"); return nil, nil }
		_, err := g.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/s/M"}, never)
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("deadline in the queue = %v, want DEADLINE_EXCEEDED", err)
		}
		ctx, leave := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { leave(errors.New("gone")) })
		_, err = g.Unary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/s/M"}, never)
		if status.Code(err) != codes.Canceled {
			t.Errorf("caller that left the queue = %v, want CANCELED", err)
		}
	})
}
