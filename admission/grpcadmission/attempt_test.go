package grpcadmission

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"

	"github.com/offtake-go/offtake/internal/incoming"
)

func TestTheAttemptReachesTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got int
		s := &service{
			unary:  func(ctx context.Context) error { got = incoming.Attempt(ctx); return nil },
			stream: func(ss grpc.ServerStream) error { got = incoming.Attempt(ss.Context()); return nil },
		}
		client := testpb.NewTestServiceClient(start(t, newGuard(t, newDoor(t, one), nil), s, nil))
		for _, c := range []struct {
			pairs []string
			want  int
		}{
			{nil, 1},
			{[]string{previousAttempts, "1"}, 2},
			{[]string{envoyAttempt, "3"}, 3},
			{[]string{previousAttempts, "1", envoyAttempt, "1"}, 2},
			{[]string{previousAttempts, "-1", envoyAttempt, "many"}, 1},
			{[]string{envoyAttempt, "2", envoyAttempt, "3"}, 1},
			{[]string{previousAttempts, "1000000"}, 1},
		} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), c.pairs...)
			if _, err := client.EmptyCall(ctx, &testpb.Empty{}); err != nil || got != c.want {
				t.Errorf("unary with %v: attempt %d, %v, want %d", c.pairs, got, err, c.want)
			}
			got = 0
			stream, err := client.FullDuplexCall(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); err != io.EOF || got != c.want {
				t.Errorf("stream with %v: attempt %d, %v, want %d", c.pairs, got, err, c.want)
			}
		}
	})
}

// contextStream is a stream as far as its context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s contextStream) Context() context.Context { return s.ctx }

func FuzzWhatACallSaysOfItsAttemptIsBounded(f *testing.F) {
	f.Add("1", "2")
	f.Add("-1", "101")
	f.Add("99999999999999999999", "0x2")
	f.Fuzz(func(t *testing.T, previous, envoy string) {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(previousAttempts, previous, envoyAttempt, envoy))
		if n := incoming.Attempt(told(ctx)); n < 1 || n > 101 {
			t.Errorf("told(%q, %q) is attempt %d, want one in [1, 101]", previous, envoy, n)
		}
	})
}
