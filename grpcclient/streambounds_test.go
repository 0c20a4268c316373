package grpcclient

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
)

func TestAStreamIsBoundedThreeTimes(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Attempt: 200 * time.Millisecond, BodyIdle: 150 * time.Millisecond}
	o := &Options{Lifetime: 2 * time.Second}
	for _, tt := range []struct {
		name   string
		stream func(grpc.ServerStream) error
		phase  Phase
		after  time.Duration
	}{
		{"a server that says nothing", silent, PhaseIdle, 150 * time.Millisecond},
		{"a server that stops", func(s grpc.ServerStream) error {
			ticking(4, 100*time.Millisecond)(s)
			return silent(s)
		}, PhaseIdle, 550 * time.Millisecond},
		{"a server that never ends", ticking(-1, 100*time.Millisecond), PhaseLifetime, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, plan, o, &upstream{stream: tt.stream}, func(t *testing.T, c *Conn) {
				warm(t, c)
				began := time.Now()
				_, err := drain(watchStream(t.Context(), t, c))
				wantCode(t, err, codes.DeadlineExceeded, InServer)
				if e, ok := errors.AsType[*TimeoutError](err); !ok || e.Phase != tt.phase {
					t.Errorf("stream = %v, want a TimeoutError for %q", err, tt.phase)
				}
				if got := time.Since(began); got != tt.after {
					t.Errorf("stream ended after %v, want %v", got, tt.after)
				}
				wantIdle(t, c)
			})
		})
	}
	t.Run("a server that lets no stream in", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := piped(t, plan, o, &upstream{stream: silent}, grpc.MaxConcurrentStreams(1))
			c.Observe(true) // more streams than the server lets in
			c.Warm(t.Context())
			watchStream(t.Context(), t, c)
			began := time.Now()
			_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
			wantCode(t, err, codes.DeadlineExceeded, InQuota)
			if e, ok := errors.AsType[*TimeoutError](err); !ok || e.Phase != PhaseAttempt || time.Since(began) != plan.Attempt {
				t.Errorf("NewStream() = %v after %v, want a TimeoutError after %v", err, time.Since(began), plan.Attempt)
			}
			if got := c.Stats().InFlight; got != 1 {
				t.Errorf("in flight = %d, want the 1 that is open", got)
			}
		})
	})
}

func TestTheTimeOfAStreamsCallerIsHisOwn(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, BodyIdle: 100 * time.Millisecond}
	bubble(t, plan, nil, &upstream{stream: ticking(5, 10*time.Millisecond)}, func(t *testing.T, c *Conn) {
		s := watchStream(t.Context(), t, c)
		for range 5 {
			<-time.After(time.Minute)
			if err := s.RecvMsg(new(wrapperspb.BytesValue)); err != nil {
				t.Fatalf("RecvMsg() after a minute of the caller's own = %v, want nil", err)
			}
		}
	})
}

func TestAMethodHasStreamBoundsOfItsOwn(t *testing.T) {
	o := &Options{Methods: map[string]Method{methodWatch: {Idle: 5 * time.Minute, Lifetime: 10 * time.Minute}}}
	plan := capacity.Plan{InFlight: 1, BodyIdle: time.Second}
	bubble(t, plan, o, &upstream{stream: ticking(-1, 4*time.Minute)}, func(t *testing.T, c *Conn) {
		began := time.Now()
		n, err := drain(watchStream(t.Context(), t, c))
		if e, ok := errors.AsType[*TimeoutError](err); !ok || e.Phase != PhaseLifetime || n != 2 || time.Since(began) != 10*time.Minute {
			t.Errorf("stream = %d messages, %v after %v, want 2 and its lifetime of 10m", n, err, time.Since(began))
		}
	})
}
