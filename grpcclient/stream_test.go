package grpcclient

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake"
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

func TestAFloodOfStreamsDoesNotBlockUnaryCalls(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Wait: 50 * time.Millisecond}
	bubble(t, plan, nil, &upstream{stream: silent}, func(t *testing.T, c *Conn) {
		warm(t, c)
		for range 2 {
			watchStream(t.Context(), t, c)
		}
		began := time.Now()
		_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		wantCode(t, err, codes.ResourceExhausted, QueueTimeout)
		if !errors.Is(err, offtake.ErrBusy) || time.Since(began) != plan.Wait {
			t.Errorf("a third stream = %v after %v, want busy after %v", err, time.Since(began), plan.Wait)
		}
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("a unary call = %v, want nil", err)
		}
	})
}

func TestAStreamThatFindsNoPlaceTakesNone(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2, Queue: capacity.NoQueue}, nil, &upstream{call: slow(time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { ask(context.Background(), c) })
		}
		synctest.Wait()
		_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		wantCode(t, err, codes.ResourceExhausted, QueueFull)
		if got := c.Stats().Streams; got != 0 {
			t.Errorf("streams after a refusal = %d, want 0", got)
		}
		group.Wait()
	})
}

func TestAStreamWaitsOnceForItsTwoPlaces(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Wait: 100 * time.Millisecond}
	bubble(t, plan, nil, &upstream{call: slow(time.Second), stream: ticking(1, 60*time.Millisecond)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		var group sync.WaitGroup
		group.Go(func() { drain(watchStream(context.Background(), t, c)) }) // the place for streams comes free
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()
		group.Go(func() { ask(context.Background(), c) }) // and the plan's goes to the one before
		synctest.Wait()
		began := time.Now()
		_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		wantCode(t, err, codes.ResourceExhausted, QueueTimeout)
		if waited := time.Since(began); waited != plan.Wait {
			t.Errorf("stream waited %v, want Plan.Wait of %v for both", waited, plan.Wait)
		}
		group.Wait()
	})
}

func TestShutdownTurnsAStreamAwayThatWaits(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Wait: time.Minute, Deadline: time.Hour}
	bubble(t, plan, nil, &upstream{stream: ticking(1, time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		s := watchStream(t.Context(), t, c)
		var group sync.WaitGroup
		began := time.Now()
		group.Go(func() {
			_, err := c.NewStream(context.Background(), watchDesc, methodWatch)
			wantCode(t, err, codes.Unavailable, ClientClosed)
			if waited := time.Since(began); waited != 0 {
				t.Errorf("a stream in the queue was turned away after %v, want at once", waited)
			}
		})
		synctest.Wait()
		group.Go(func() { c.Shutdown(context.Background()) })
		if _, err := drain(s); err != io.EOF {
			t.Errorf("the stream before it = %v, want EOF", err)
		}
		group.Wait()
	})
}

func TestAStreamThatEndsWellPaysForRetries(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1, RetryShare: 0.5}, nil, &upstream{stream: ticking(1, time.Millisecond)}, func(t *testing.T, c *Conn) {
		for range 4 {
			if _, err := drain(watchStream(t.Context(), t, c)); err != io.EOF {
				t.Errorf("stream = %v, want EOF", err)
			}
		}
		if got, want := c.Stats().Retries, budget.Floor+4*0.5; got != want {
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

// cached is a stream that an interceptor has made up.
type cached struct {
	grpc.ClientStream
	left int
}

func (c *cached) SendMsg(any) error { return nil }
func (c *cached) CloseSend() error  { return nil }
func (c *cached) RecvMsg(any) error {
	if c.left == 0 {
		return io.EOF
	}
	c.left--
	return nil
}

// reopened is a stream that begins anew when it fails, as of an interceptor that
// repeats.
type reopened struct {
	grpc.ClientStream
	again func() (grpc.ClientStream, error)
}

func (r *reopened) RecvMsg(m any) error {
	err := r.ClientStream.RecvMsg(m)
	if status.Code(err) != codes.Unavailable {
		return err
	}
	if r.ClientStream, err = r.again(); err != nil {
		return err
	}
	r.ClientStream.SendMsg(wrapperspb.Bytes(nil))
	r.ClientStream.CloseSend()
	return r.ClientStream.RecvMsg(m)
}

func TestAStreamIsItsCallersWhateverInterceptorsMakeOfIt(t *testing.T) {
	for _, tt := range []struct {
		name      string
		intercept func(open func(...grpc.CallOption) (grpc.ClientStream, error), options []grpc.CallOption) (grpc.ClientStream, error)
		messages  int
	}{
		{"made up", func(func(...grpc.CallOption) (grpc.ClientStream, error), []grpc.CallOption) (grpc.ClientStream, error) {
			return &cached{left: 2}, nil
		}, 2},
		{"without its options", func(open func(...grpc.CallOption) (grpc.ClientStream, error), _ []grpc.CallOption) (grpc.ClientStream, error) {
			return open()
		}, 3},
		{"opened again", func(open func(...grpc.CallOption) (grpc.ClientStream, error), options []grpc.CallOption) (grpc.ClientStream, error) {
			if _, err := open(append(options, grpc.CallContentSubtype("unheard of"))...); err == nil {
				return nil, errors.New("opened with a codec that is not there")
			}
			return open(options...)
		}, 3},
		{"begun anew", func(open func(...grpc.CallOption) (grpc.ClientStream, error), options []grpc.CallOption) (grpc.ClientStream, error) {
			s, err := open(options...)
			return &reopened{s, func() (grpc.ClientStream, error) { return open(options...) }}, err
		}, 3},
	} {
		intercept := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			return tt.intercept(func(options ...grpc.CallOption) (grpc.ClientStream, error) {
				return next(ctx, desc, cc, method, options...)
			}, options)
		}
		first := true
		serve := func(s grpc.ServerStream) error {
			if tt.name == "begun anew" && first {
				first = false
				return status.Error(codes.Unavailable, "not yet")
			}
			return ticking(3, time.Second)(s)
		}
		o := &Options{Lifetime: time.Minute, DialOptions: []grpc.DialOption{grpc.WithChainStreamInterceptor(intercept)}}
		t.Run(tt.name+", read to its end", func(t *testing.T) {
			bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{stream: serve}, func(t *testing.T, c *Conn) {
				s := watchStream(t.Context(), t, c)
				if n, err := drain(s); n != tt.messages || err != io.EOF {
					t.Errorf("stream = %d messages and %v, want %d and EOF", n, err, tt.messages)
				}
				wantIdle(t, c)
			})
		})
		t.Run(tt.name+", forgotten", func(t *testing.T) {
			bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{stream: silent}, func(t *testing.T, c *Conn) {
				watchStream(t.Context(), t, c)
				<-time.After(time.Minute - 1)
				if got := c.Stats().Streams; got != 1 {
					t.Errorf("streams before the end of their lifetime = %d, want 1", got)
				}
				<-time.After(1)
				synctest.Wait()
				wantIdle(t, c)
			})
		})
	}
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

func TestAPanicWhileAStreamOpensGivesItsPlaceBack(t *testing.T) {
	o := &Options{DialOptions: []grpc.DialOption{grpc.WithStreamInterceptor(
		func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, grpc.Streamer, ...grpc.CallOption) (grpc.ClientStream, error) {
			panic("a mistake of the user's")
		})}}
	bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{}, func(t *testing.T, c *Conn) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("NewStream() returned, want the panic")
				}
			}()
			c.NewStream(t.Context(), watchDesc, methodWatch)
		}()
		wantIdle(t, c)
	})
}

func TestShutdownWaitsForStreams(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2}, nil, &upstream{stream: ticking(5, time.Second)}, func(t *testing.T, c *Conn) {
		s := watchStream(t.Context(), t, c)
		began := time.Now()
		done := make(chan error)
		go func() { done <- c.Shutdown(context.Background()) }()
		if n, err := drain(s); n != 5 || err != io.EOF {
			t.Errorf("stream during Shutdown = %d messages, %v, want 5 and EOF", n, err)
		}
		if err := <-done; err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("Shutdown() = %v after %v, want nil after 5s", err, time.Since(began))
		}
	})
}
