package grpcclient

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// ticking sends a message each period until its caller has gone, or forever if n
// is negative.
func ticking(n int, period time.Duration) func(grpc.ServerStream) error {
	return func(s grpc.ServerStream) error {
		for i := 0; i != n; i++ {
			select {
			case <-time.After(period):
			case <-s.Context().Done():
				return s.Context().Err()
			}
			if err := s.SendMsg(wrapperspb.Bytes([]byte("tick"))); err != nil {
				return err
			}
		}
		return nil
	}
}

func silent(s grpc.ServerStream) error {
	<-s.Context().Done()
	return s.Context().Err()
}

func watchStream(ctx context.Context, t *testing.T, c *Conn) grpc.ClientStream {
	t.Helper()
	s, err := c.NewStream(ctx, watchDesc, methodWatch, grpc.StaticMethod())
	if err != nil {
		t.Fatalf("NewStream() = %v, want nil", err)
	}
	if err := s.SendMsg(wrapperspb.Bytes(nil)); err != nil {
		t.Fatalf("SendMsg() = %v, want nil", err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatalf("CloseSend() = %v, want nil", err)
	}
	return s
}

// drain receives to the end, and returns how many messages there were.
func drain(s grpc.ClientStream) (n int, err error) {
	for {
		if err := s.RecvMsg(new(wrapperspb.BytesValue)); err != nil {
			return n, err
		}
		n++
	}
}

func TestAStreamHoldsItsPlaceToItsEnd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		stream  func(grpc.ServerStream) error
		end     func(t *testing.T, s grpc.ClientStream, leave context.CancelFunc)
		outcome string
	}{
		{"read to its end", ticking(3, time.Second), func(t *testing.T, s grpc.ClientStream, _ context.CancelFunc) {
			if n, err := drain(s); n != 3 || err != io.EOF {
				t.Errorf("stream = %d messages and %v, want 3 and EOF", n, err)
			}
		}, "OK"},
		{"an error of the server's", func(grpc.ServerStream) error { return status.Error(codes.Aborted, "no") }, func(t *testing.T, s grpc.ClientStream, _ context.CancelFunc) {
			if _, err := drain(s); status.Code(err) != codes.Aborted {
				t.Errorf("stream = %v, want ABORTED", err)
			}
		}, "ABORTED"},
		{"canceled", silent, func(t *testing.T, s grpc.ClientStream, leave context.CancelFunc) {
			leave()
			_, err := drain(s)
			wantCode(t, err, codes.Canceled, InServer)
		}, "canceled"},
		{"forgotten, to the end of its lifetime", silent, func(t *testing.T, _ grpc.ClientStream, _ context.CancelFunc) {
			<-time.After(time.Hour)
		}, "timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := prometheus.NewRegistry()
			bubble(t, capacity.Plan{InFlight: 1}, &Options{Registerer: r}, &upstream{stream: tt.stream}, func(t *testing.T, c *Conn) {
				warm(t, c)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				s := watchStream(ctx, t, c)
				if got := c.Stats(); got.InFlight != 1 || got.Streams != 1 {
					t.Errorf("in flight, streams = %d, %d, want 1, 1", got.InFlight, got.Streams)
				}
				tt.end(t, s, leave)
				synctest.Wait()
				wantIdle(t, c)
				s.RecvMsg(new(wrapperspb.BytesValue)) // once more must not give back another
				wantIdle(t, c)
				wantCalls(t, r, tt.outcome, 1)
				if count, _ := series(t, r, "offtake_client_request_duration_seconds", map[string]string{"method": "server_stream"}); count != 1 {
					t.Errorf("calls of the kind server_stream = %d, want 1", count)
				}
				if err := ask(t.Context(), c); err != nil {
					t.Errorf("the next call = %v, want nil", err)
				}
			})
		})
	}
}

func TestAStreamThatEndsWellPaysForRetries(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1, RetryShare: 0.5}, nil, &upstream{stream: ticking(1, time.Millisecond)}, func(t *testing.T, c *Conn) {
		for range 4 {
			if _, err := drain(watchStream(t.Context(), t, c)); err != io.EOF {
				t.Errorf("stream = %v, want EOF", err)
			}
		}
		if got, want := c.Stats().RetryBalance, budget.Floor+4*0.5; got != want {
			t.Errorf("retries after four streams = %v, want %v", got, want)
		}
	})
}

func TestStreamsAreToldApartByWhoSendsMany(t *testing.T) {
	for _, tt := range []struct {
		desc grpc.StreamDesc
		want telemetry.Method
	}{
		{grpc.StreamDesc{ServerStreams: true}, telemetry.ServerStream},
		{grpc.StreamDesc{ClientStreams: true}, telemetry.ClientStream},
		{grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, telemetry.BidiStream},
	} {
		if got := kindOf(&tt.desc); got != tt.want {
			t.Errorf("kindOf(%+v) = %v, want %v", tt.desc, got, tt.want)
		}
	}
}

func TestMessagesGoBothWays(t *testing.T) {
	echo := func(s grpc.ServerStream) error {
		for {
			m := new(wrapperspb.BytesValue)
			if err := s.RecvMsg(m); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if err := s.SendMsg(m); err != nil {
				return err
			}
		}
	}
	bubble(t, capacity.Plan{InFlight: 1}, nil, &upstream{stream: echo}, func(t *testing.T, c *Conn) {
		s, err := c.NewStream(t.Context(), chatDesc, methodChat)
		if err != nil {
			t.Fatal(err)
		}
		for i := range byte(10) {
			if err := s.SendMsg(wrapperspb.Bytes([]byte{i})); err != nil {
				t.Fatal(err)
			}
			m := new(wrapperspb.BytesValue)
			if err := s.RecvMsg(m); err != nil || m.Value[0] != i {
				t.Errorf("message %d = %v, %v, want the same", i, m, err)
			}
		}
		s.CloseSend()
		if _, err := drain(s); err != io.EOF {
			t.Errorf("end = %v, want EOF", err)
		}
		wantIdle(t, c)
	})
}

func TestAClientStreamGivesItsPlaceBackWithItsAnswer(t *testing.T) {
	collect := func(s grpc.ServerStream) error {
		for s.RecvMsg(new(wrapperspb.BytesValue)) == nil {
		}
		return s.SendMsg(wrapperspb.Bytes([]byte("all")))
	}
	bubble(t, capacity.Plan{InFlight: 1}, nil, &upstream{stream: collect}, func(t *testing.T, c *Conn) {
		for range 2 {
			s, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, methodChat)
			if err != nil {
				t.Fatal(err)
			}
			m := new(wrapperspb.BytesValue)
			if err := errors.Join(s.SendMsg(m), s.CloseSend(), s.RecvMsg(m)); err != nil || string(m.Value) != "all" {
				t.Errorf("answer = %q, %v, want all, nil", m.Value, err)
			}
			if s.(*stream).attempt.Err() == nil {
				t.Error("context of a stream that is over goes on, to the end of its lifetime")
			}
			wantIdle(t, c)
		}
	})
}

// TestWhoSendsToAStreamThatIsOverHearsWhyFromReceiving: SendMsg says io.EOF then, and
// that is no end.
func TestWhoSendsToAStreamThatIsOverHearsWhyFromReceiving(t *testing.T) {
	r := prometheus.NewRegistry()
	u := &upstream{stream: func(grpc.ServerStream) error { return status.Error(codes.FailedPrecondition, "no") }}
	bubble(t, capacity.Plan{InFlight: 1}, &Options{Registerer: r}, u, func(t *testing.T, c *Conn) {
		s, err := c.NewStream(t.Context(), chatDesc, methodChat)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := s.SendMsg(wrapperspb.Bytes(nil)); err != io.EOF {
			t.Errorf("SendMsg() = %v, want EOF", err)
		}
		wantCode(t, s.RecvMsg(new(wrapperspb.BytesValue)), codes.FailedPrecondition, "")
		wantCalls(t, r, "FAILED_PRECONDITION", 1)
		wantIdle(t, c)
	})
}

func TestTheEndOfAStreamIsTheSameToWhoeverAsksTwice(t *testing.T) {
	aborted := func(grpc.ServerStream) error { return status.Error(codes.Aborted, "no") }
	bubble(t, capacity.Plan{InFlight: 1}, nil, &upstream{stream: aborted}, func(t *testing.T, c *Conn) {
		s := watchStream(t.Context(), t, c)
		for range 3 {
			if err := s.RecvMsg(new(wrapperspb.BytesValue)); status.Code(err) != codes.Aborted {
				t.Errorf("RecvMsg() = %v, want ABORTED", err)
			}
		}
	})
}
