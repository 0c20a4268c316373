package grpcclient

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
)

// TestWhatCanNotBeSentIsTheCallersFault: grpc-go has the codes of a broken server for
// it, which a method may allow to be repeated.
func TestWhatCanNotBeSentIsTheCallersFault(t *testing.T) {
	large := grpc.MaxCallSendMsgSize(10)
	for _, policy := range []string{"", roundRobin} {
		for _, tt := range []struct {
			name   string
			md     string
			in     any
			option grpc.CallOption
			code   codes.Code
			reason Reason
			large  bool
		}{
			{"a string that is no UTF-8", "", wrapperspb.String("\xff\xfe"), nil, codes.Internal, Unsendable, false},
			{"metadata over the server's limit", strings.Repeat("x", 8000), wrapperspb.Bytes(nil), nil, codes.Internal, Unsendable, false},
			{"a message over the client's limit", "", wrapperspb.Bytes(make([]byte, 100)), large, codes.ResourceExhausted, TooLarge, true},
		} {
			if policy != "" && tt.md != "" {
				continue // only a picker sees how far it came
			}
			t.Run(tt.name+" "+policy, func(t *testing.T) {
				synctestServer(t, &Options{ServiceConfig: policy, Methods: idempotent(codes.Internal, codes.Unavailable)}, func(t *testing.T, c *Conn, reached *int) {
					var options []grpc.CallOption
					if tt.option != nil {
						options = append(options, tt.option)
					}
					ctx := metadata.AppendToOutgoingContext(t.Context(), "token", tt.md)
					before := c.Stats().RetryBalance
					err := c.Invoke(ctx, methodCall, tt.in, new(wrapperspb.BytesValue), options...)
					wantCode(t, err, tt.code, tt.reason)
					own, ok := errors.AsType[*RequestError](err)
					if !ok || own.TooLarge() != tt.large {
						t.Errorf("error = %T, want a *RequestError with TooLarge %v", err, tt.large)
					}
					if got := c.Failures(); len(got) > 0 || *reached > 0 {
						t.Errorf("failures, calls at the server = %v, %d, want none", got, *reached)
					}
					if got := c.Stats().RetryBalance; got != before {
						t.Errorf("balance of the retry budget = %v, want %v still", got, before)
					}
					wantIdle(t, c)
				})
			})
		}
	}
}

// synctestServer is a bubble with a server that counts its calls, and takes 4 KiB of
// metadata.
func synctestServer(t *testing.T, o *Options, test func(t *testing.T, c *Conn, reached *int)) {
	var reached int
	bubbleWith(t, capacity.Plan{InFlight: 4}, o, &upstream{call: func(_ context.Context, body []byte) ([]byte, error) {
		reached++
		return body, nil
	}}, func(t *testing.T, c *Conn) {
		warm(t, c)
		test(t, c, &reached)
	}, grpc.MaxHeaderListSize(4096))
}

func TestAnInternalErrorOfTheServerIsNoFaultOfTheCaller(t *testing.T) {
	words := status.Error(codes.Internal, "grpc: error while marshaling: of its answer")
	for _, policy := range []string{"", roundRobin} {
		t.Run(policy, func(t *testing.T) {
			s := &script{answers: []error{words}}
			bubble(t, capacity.Plan{InFlight: 1}, &Options{ServiceConfig: policy, Methods: idempotent(codes.Internal)}, &upstream{call: s.call}, func(t *testing.T, c *Conn) {
				if err := ask(t.Context(), c); err != nil || s.calls != 2 {
					t.Errorf("call, calls at the server = %v, %d, want nil, 2", err, s.calls)
				}
			})
		})
	}
}

func TestAMessageOfAStreamThatCanNotBeSentIsTheCallersFault(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2}, nil, &upstream{stream: func(s grpc.ServerStream) error {
		if err := s.SendMsg(wrapperspb.Bytes(nil)); err != nil {
			return err
		}
		return s.RecvMsg(new(wrapperspb.StringValue))
	}}, func(t *testing.T, c *Conn) {
		s, err := c.NewStream(t.Context(), chatDesc, methodChat)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.RecvMsg(new(wrapperspb.BytesValue)); err != nil {
			t.Fatal(err)
		}
		err = s.SendMsg(wrapperspb.String("\xff"))
		wantCode(t, err, codes.Internal, Unsendable)
		if got := c.Failures(); len(got) > 0 {
			t.Errorf("failures = %v, want none", got)
		}
		wantIdle(t, c)
	})
}

func TestOnlySuccessesPayForRetries(t *testing.T) {
	for code, pays := range map[codes.Code]bool{
		codes.OK: true, codes.NotFound: true, codes.InvalidArgument: true,
		codes.ResourceExhausted: false, codes.Unavailable: false, codes.Canceled: false, codes.Internal: false,
	} {
		t.Run(code.String(), func(t *testing.T) {
			bubble(t, capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry, RetryShare: 0.1}, nil, &upstream{call: failing(code)}, func(t *testing.T, c *Conn) {
				for range 100 {
					_ = ask(t.Context(), c)
				}
				want := float64(budget.Floor)
				if pays {
					want += 10
				}
				if got := c.Stats().RetryBalance; got != want {
					t.Errorf("balance after 100 answers of %v = %v, want %v", code, got, want)
				}
			})
		})
	}
}

// TestCancelledByTheServerMayBeRepeated: servers say so while they shut down.
func TestCancelledByTheServerMayBeRepeated(t *testing.T) {
	s := &script{answers: []error{status.Error(codes.Canceled, "shutting down")}}
	bubble(t, capacity.Plan{InFlight: 1}, &Options{Methods: idempotent(codes.Canceled)}, &upstream{call: s.call}, func(t *testing.T, c *Conn) {
		if err := ask(t.Context(), c); err != nil || s.calls != 2 {
			t.Errorf("call, calls at the server = %v, %d, want nil, 2", err, s.calls)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ask(ctx, c); !errors.Is(err, context.Canceled) || s.calls != 2 {
			t.Errorf("canceled call, calls at the server = %v, %d, want context canceled, 2", err, s.calls)
		}
	})
}

func TestACloseIsNotRepeatedAsCancelled(t *testing.T) {
	var calls atomic.Int32 // the server is not waited for
	bubble(t, capacity.Plan{InFlight: 1}, &Options{Methods: idempotent(codes.Canceled)}, &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
		calls.Add(1)
		return slow(time.Second)(ctx, body)
	}}, func(t *testing.T, c *Conn) {
		time.AfterFunc(10*time.Millisecond, func() { c.Close() })
		err := ask(t.Context(), c)
		if _, ok := errors.AsType[*RetryError](err); ok || status.Code(err) != codes.Canceled || calls.Load() != 1 {
			t.Errorf("call, calls at the server = %v, %d, want CANCELED after one", err, calls.Load())
		}
	})
}

func TestAfterTheOneAnswerOfAStreamComesItsEnd(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1}, nil, &upstream{stream: func(s grpc.ServerStream) error {
		return s.SendMsg(wrapperspb.Bytes(nil))
	}}, func(t *testing.T, c *Conn) {
		s, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, methodChat)
		if err != nil {
			t.Fatal(err)
		}
		var got []error
		for range 3 {
			got = append(got, s.RecvMsg(new(wrapperspb.BytesValue)))
		}
		if want := []error{nil, io.EOF, io.EOF}; !slices.Equal(got, want) {
			t.Errorf("RecvMsg() three times = %v, want %v", got, want)
		}
	})
}

func TestErrorsOfTimeAreNetErrors(t *testing.T) {
	out := &TimeoutError{Upstream: "u", Phase: PhaseAttempt}
	for _, tt := range []struct {
		err     error
		timeout bool
	}{
		{out, true},
		{&ContextError{Upstream: "u", Err: context.DeadlineExceeded, code: codes.DeadlineExceeded}, true},
		{&ContextError{Upstream: "u", Err: context.Canceled, code: codes.Canceled}, false},
		{&RetryError{Attempts: 2, Err: out, Earlier: out}, true},
		{&RetryError{Attempts: 2, Err: io.EOF, Earlier: out}, false},
	} {
		if got, ok := tt.err.(net.Error); !ok || got.Timeout() != tt.timeout || got.Temporary() != tt.timeout { //nolint:staticcheck // it is what the interface has
			t.Errorf("%T: net.Error %v, want one with Timeout and Temporary %v", tt.err, ok, tt.timeout)
		}
	}
}
