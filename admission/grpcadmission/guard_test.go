package grpcadmission

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/incoming"
)

// one is a plan of one place and no queue.
var one = capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}

// take takes the only place of a door.
func take(t *testing.T, door *admission.Door) *admission.Place {
	t.Helper()
	place, err := door.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return place
}

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

func TestHealthAndChosenMethodsPassAFullDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, one)
		g := newGuard(t, door, &Options{Exempt: []string{"/grpc.testing.TestService/EmptyCall"}})
		conn := start(t, g, &service{}, func(srv *grpc.Server) { healthpb.RegisterHealthServer(srv, health.NewServer()) })
		defer take(t, door).Release()
		if _, err := testpb.NewTestServiceClient(conn).EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
			t.Errorf("exempt method = %v, want nil", err)
		}
		if _, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil {
			t.Errorf("Check() = %v, want nil", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		watch, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := watch.Recv(); err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("Watch() = %v, %v, want SERVING", got, err)
		}
		stream, err := testpb.NewTestServiceClient(conn).FullDuplexCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("a method beside the exempt one = %v, want RESOURCE_EXHAUSTED", err)
		}
	})
}

func TestAClientThatWatchesHealthStaysReadyUnderOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, one)
		conn := start(t, newGuard(t, door, nil), &service{},
			func(srv *grpc.Server) { healthpb.RegisterHealthServer(srv, health.NewServer()) },
			grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""}}`))
		defer take(t, door).Release()
		client := testpb.NewTestServiceClient(conn)
		for range 50 {
			if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); status.Code(err) != codes.ResourceExhausted {
				t.Fatalf("call of a full server = %v, want RESOURCE_EXHAUSTED", err)
			}
			<-time.After(100 * time.Millisecond)
		}
	})
}

func TestThePlaceIsBackAfterErrorsAndPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, one)
		s := &service{
			unary:  func(context.Context) error { panic("broken") },
			stream: func(grpc.ServerStream) error { return errors.New("broken") },
		}
		client := testpb.NewTestServiceClient(start(t, newGuard(t, door, nil), s, nil))
		for range 100 {
			if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); err == nil {
				t.Fatal("a handler that panics = nil, want an error")
			}
			stream, err := client.FullDuplexCall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Recv(); status.Code(err) != codes.Unknown {
				t.Fatalf("a handler that fails = %v, want its error", err)
			}
		}
		if s := door.Stats(); s.InFlight != 0 || s.Entered != 200 {
			t.Errorf("Stats() = %+v, want 0 in flight of 200 entered", s)
		}
	})
}

func TestAStreamKeepsItsPlaceUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, one)
		s := &service{stream: func(ss grpc.ServerStream) error {
			for {
				if err := ss.RecvMsg(&testpb.StreamingOutputCallRequest{}); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
			}
		}}
		client := testpb.NewTestServiceClient(start(t, newGuard(t, door, nil), s, nil))
		stream, err := client.FullDuplexCall(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		if got := door.Stats().InFlight; got != 1 {
			t.Errorf("InFlight during the stream = %d, want 1", got)
		}
		stream.CloseSend()
		if _, err := stream.Recv(); err != io.EOF {
			t.Errorf("Recv() = %v, want EOF", err)
		}
		synctest.Wait()
		if got := door.Stats().InFlight; got != 0 {
			t.Errorf("InFlight after the stream = %d, want 0", got)
		}
	})
}

func TestHandlersThatOutliveTheirCallAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, capacity.Plan{InFlight: 2})
		obeys := make(chan bool, 2)
		s := &service{unary: func(ctx context.Context) error {
			if <-obeys {
				<-ctx.Done()
			} else {
				<-time.After(time.Second)
			}
			return nil
		}}
		g := newGuard(t, door, nil)
		client := testpb.NewTestServiceClient(start(t, g, s, nil))
		call := func(o bool) {
			t.Helper()
			obeys <- o
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := client.EmptyCall(ctx, &testpb.Empty{}); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("call = %v, want DEADLINE_EXCEEDED", err)
			}
			<-time.After(10 * time.Millisecond)
			synctest.Wait()
		}
		call(true)
		if got, want := g.Stats(), (Stats{}); got != want {
			t.Errorf("Stats() = %+v after a handler that obeys, want %+v", got, want)
		}
		call(false)
		if got, want := g.Stats(), (Stats{Overrunning: 1}); got != want {
			t.Errorf("Stats() = %+v while a handler overruns, want %+v", got, want)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if got, want := g.Stats(), (Stats{Overran: 1}); got != want {
			t.Errorf("Stats() = %+v after it returned, want %+v", got, want)
		}
	})
}

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

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	_, err := New(nil, &Options{Exempt: []string{"", "pkg.Service/M", "/pkg.Service", "/pkg.Service/", "/*/M", "/a/b/c", "/ok.Service/*"}})
	if err == nil {
		t.Fatal("New(mistakes) = nil, want an error")
	}
	for _, want := range []string{"door", "Exempt[0]", "Exempt[1]", "Exempt[2]", "Exempt[3]", "Exempt[4]", "Exempt[5]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New(mistakes) = %v, want it to name %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "Exempt[6]") {
		t.Errorf("New(mistakes) = %v, want the good one left alone", err)
	}
}

func TestTheDoorCountsCallsByHowTheyEnd(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle func() error
		want   string
	}{
		{"well", func() error { return nil }, "2xx"},
		{"a caller's mistake", func() error { return status.Error(codes.NotFound, "no such order") }, "4xx"},
		{"a failure", func() error { return errors.New("broken") }, "5xx"},
		{"a panic", func() error { panic("broken") }, "5xx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := prometheus.NewRegistry()
			door, err := admission.New(one, &admission.Options{Registerer: r})
			if err != nil {
				t.Fatal(err)
			}
			defer door.Close()
			g := newGuard(t, door, nil)
			survive := func(call func()) {
				defer func() { _ = recover() }() // the handler's panic
				call()
			}
			survive(func() {
				g.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/Place"}, func(context.Context, any) (any, error) { return nil, tt.handle() })
			})
			survive(func() {
				g.Stream(nil, contextStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: "/shop.Orders/Watch"}, func(any, grpc.ServerStream) error { return tt.handle() })
			})
			if got := outcomes(t, r); len(got) != 1 || got[tt.want] != 2 {
				t.Errorf("outcomes = %v, want 2 of %s", got, tt.want)
			}
		})
	}
}

// contextStream is a stream as far as its context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s contextStream) Context() context.Context { return s.ctx }

// outcomes are how many requests a door has counted, by their outcome.
func outcomes(t *testing.T, r *prometheus.Registry) map[string]uint64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if n := m.GetHistogram().GetSampleCount(); l.GetName() == "outcome" && n > 0 {
					counts[l.GetValue()] += n
				}
			}
		}
	}
	return counts
}

func TestStatusesAreThoseOfTheCodes(t *testing.T) {
	for code, want := range map[codes.Code]int{
		codes.OK: 200, codes.Canceled: 499, codes.Unknown: 500, codes.InvalidArgument: 400, codes.DeadlineExceeded: 504,
		codes.NotFound: 404, codes.AlreadyExists: 409, codes.PermissionDenied: 403, codes.ResourceExhausted: 429,
		codes.FailedPrecondition: 400, codes.Aborted: 409, codes.OutOfRange: 400, codes.Unimplemented: 501, codes.Internal: 500,
		codes.Unavailable: 503, codes.DataLoss: 500, codes.Unauthenticated: 401, codes.Code(99): 500,
	} {
		if got := httpStatus(code); got != want {
			t.Errorf("httpStatus(%v) = %d, want %d", code, got, want)
		}
	}
}

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
