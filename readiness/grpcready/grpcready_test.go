package grpcready

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/health" // the client's half of health checks
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/internal/grpctest"
	"github.com/offtake-go/offtake/readiness"
)

const (
	servingStatus = healthpb.HealthCheckResponse_SERVING
	notServing    = healthpb.HealthCheckResponse_NOT_SERVING
	unknown       = healthpb.HealthCheckResponse_SERVICE_UNKNOWN
)

// service has a call of 300 ms, and a stream that ends with its context or, if
// stubborn, an hour later.
type service struct {
	testpb.UnimplementedTestServiceServer
	stubborn bool
}

func (s *service) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	<-time.After(300 * time.Millisecond)
	return &testpb.Empty{}, nil
}

func (s *service) FullDuplexCall(ss grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	<-ss.Context().Done()
	if s.stubborn {
		<-time.After(time.Hour)
	}
	return ss.Context().Err()
}

// start serves health and s, and returns a connection to them.
func start(t *testing.T, health *Server, s *service, options ...grpc.DialOption) (*grpc.Server, *grpc.ClientConn) {
	t.Helper()
	srv := grpc.NewServer()
	healthpb.RegisterHealthServer(srv, health)
	testpb.RegisterTestServiceServer(srv, s)
	return srv, grpctest.Dial(t, srv, options...)
}

func newServer(t *testing.T, gate *readiness.Gate, o *Options) *Server {
	t.Helper()
	s, err := New(gate, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func open(t *testing.T, gate *readiness.Gate) {
	t.Helper()
	if err := gate.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// watch returns a stream that is checked message by message.
func watch(t *testing.T, conn *grpc.ClientConn, service string) grpc.ServerStreamingClient[healthpb.HealthCheckResponse] {
	t.Helper()
	stream, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func wantNext(t *testing.T, w grpc.ServerStreamingClient[healthpb.HealthCheckResponse], want healthpb.HealthCheckResponse_ServingStatus) {
	t.Helper()
	if got, err := w.Recv(); err != nil || got.Status != want {
		t.Errorf("Recv() = %v, %v, want %v", got, err, want)
	}
}

func TestServesOnlyWhileTheGateIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate, other readiness.Gate
		s := newServer(t, &gate, &Options{Services: map[string]*readiness.Gate{"shop.Orders": &gate, "shop.Search": &other}})
		_, conn := start(t, s, &service{})
		client := healthpb.NewHealthClient(conn)
		want := func(state string, statuses map[string]healthpb.HealthCheckResponse_ServingStatus) {
			t.Helper()
			list, err := client.List(t.Context(), &healthpb.HealthListRequest{})
			if err != nil || len(list.Statuses) != len(statuses) {
				t.Errorf("List() while %s = %v, %v, want %d services", state, list, err, len(statuses))
			}
			for name, status := range statuses {
				got, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: name})
				if err != nil || got.Status != status || list.Statuses[name].GetStatus() != status {
					t.Errorf("Check(%q) while %s = %v, %v, and %v in the list, want %v", name, state, got, err, list.Statuses[name], status)
				}
			}
		}
		want("warming", map[string]healthpb.HealthCheckResponse_ServingStatus{"": notServing, "shop.Orders": notServing, "shop.Search": notServing, Liveness: servingStatus})
		open(t, &gate)
		want("ready", map[string]healthpb.HealthCheckResponse_ServingStatus{"": servingStatus, "shop.Orders": servingStatus, "shop.Search": notServing, Liveness: servingStatus})
		gate.Drain()
		want("draining", map[string]healthpb.HealthCheckResponse_ServingStatus{"": notServing, "shop.Orders": notServing, "shop.Search": notServing, Liveness: servingStatus})
		if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "nobody"}); status.Code(err) != codes.NotFound {
			t.Errorf("Check(nobody) = %v, want NOT_FOUND", err)
		}
	})
}

func TestWatchersSeeEachChangeAndEndWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate readiness.Gate
		s := newServer(t, &gate, nil)
		srv, conn := start(t, s, &service{})
		all, live, nobody := watch(t, conn, ""), watch(t, conn, Liveness), watch(t, conn, "nobody")
		wantNext(t, all, notServing)
		wantNext(t, live, servingStatus)
		wantNext(t, nobody, unknown)
		open(t, &gate)
		wantNext(t, all, servingStatus)
		gate.Drain()
		wantNext(t, all, notServing)

		next := make(chan error, 1) // a watch that ended now would be started again without a pause
		go func() {
			_, err := all.Recv()
			next <- err
		}()
		<-time.After(10 * time.Second) // while the balancers look away
		select {
		case err := <-next:
			t.Errorf("the watch ended while draining: %v", err)
		default:
		}

		start := time.Now()
		if err := s.Shutdown(t.Context(), srv); err != nil || time.Since(start) != 0 {
			t.Errorf("Shutdown() with watchers = %v after %v, want nil at once", err, time.Since(start))
		}
		if err := <-next; status.Code(err) != codes.Unavailable {
			t.Errorf("the watch ended with %v, want UNAVAILABLE", err)
		}
		for _, w := range []grpc.ServerStreamingClient[healthpb.HealthCheckResponse]{live, nobody} {
			if _, err := w.Recv(); status.Code(err) != codes.Unavailable {
				t.Errorf("the watch ended with %v, want UNAVAILABLE", err)
			}
		}
	})
}

func TestShutdownTellsItsWatchersThatItDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate readiness.Gate
		open(t, &gate)
		s := newServer(t, &gate, nil)
		srv, conn := start(t, s, &service{})
		w := watch(t, conn, "")
		wantNext(t, w, servingStatus)
		if err := s.Shutdown(t.Context(), srv); err != nil {
			t.Errorf("Shutdown() = %v, want nil", err)
		}
		if got := gate.State(); got != readiness.Draining {
			t.Errorf("State() after Shutdown = %v, want draining", got)
		}
		wantNext(t, w, notServing)
		if _, err := w.Recv(); status.Code(err) != codes.Unavailable {
			t.Errorf("the watch ended with %v, want UNAVAILABLE", err)
		}
	})
}

func TestShutdownEndsAStreamWithoutEndAndLetsCallsFinish(t *testing.T) {
	for name, s := range map[string]*service{"obedient": {}, "stubborn": {stubborn: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var gate readiness.Gate
				open(t, &gate)
				health := newServer(t, &gate, nil)
				srv, conn := start(t, health, s)
				client := testpb.NewTestServiceClient(conn)
				stream, err := client.FullDuplexCall(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() {
					_, err := stream.Recv()
					ended <- err
				}()
				call := make(chan error, 1)
				go func() {
					_, err := client.EmptyCall(t.Context(), &testpb.Empty{})
					call <- err
				}()
				<-time.After(100 * time.Millisecond)
				synctest.Wait()

				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				err = health.Shutdown(ctx, srv)
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took < time.Second || took > time.Second+stopTime {
					t.Errorf("Shutdown(1s) = %v after %v, want the deadline within %v of it", err, took, stopTime)
				}
				if err := <-ended; status.Code(err) != codes.Unavailable || time.Since(start) > time.Second+stopTime {
					t.Errorf("the stream ended with %v after %v, want UNAVAILABLE with the deadline of 1s", err, time.Since(start))
				}
				if err := <-call; err != nil {
					t.Errorf("the call that ran = %v, want nil", err)
				}
				<-time.After(2 * time.Hour) // the stubborn handler returns, and takes GracefulStop with it
			})
		})
	}
}

func TestAClientThatWatchesSendsNothingBeforeTheGateOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gate readiness.Gate
		_, conn := start(t, newServer(t, &gate, nil), &service{},
			grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":""}}`))
		client := testpb.NewTestServiceClient(conn)
		if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); status.Code(err) != codes.Unavailable {
			t.Errorf("call before the gate opens = %v, want UNAVAILABLE", err)
		}
		begin := time.Now()
		time.AfterFunc(time.Second, func() { open(t, &gate) })
		_, err := client.EmptyCall(t.Context(), &testpb.Empty{}, grpc.WaitForReady(true))
		if got, want := time.Since(begin), 1300*time.Millisecond; err != nil || got != want {
			t.Errorf("call that waits for ready = %v after %v, want nil after %v", err, got, want)
		}
	})
}

func TestAWatchEndsWithItsClient(t *testing.T) {
	var gate readiness.Gate
	s := newServer(t, &gate, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ss := &fakeStream{ctx: ctx, sent: make(chan struct{}, 1)}
	done := make(chan error)
	go func() { done <- s.Watch(&healthpb.HealthCheckRequest{}, ss) }()
	<-ss.sent
	cancel()
	if err := <-done; status.Code(err) != codes.Canceled {
		t.Errorf("Watch() = %v, want CANCELED", err)
	}
	ss = &fakeStream{ctx: t.Context(), err: io.ErrClosedPipe}
	if err := s.Watch(&healthpb.HealthCheckRequest{}, ss); err != io.ErrClosedPipe {
		t.Errorf("Watch() on a broken stream = %v, want its error", err)
	}
}

type fakeStream struct {
	grpc.ServerStream
	ctx  context.Context
	sent chan struct{}
	err  error
}

func (s *fakeStream) Context() context.Context { return s.ctx }

func (s *fakeStream) Send(*healthpb.HealthCheckResponse) error {
	if s.err == nil {
		s.sent <- struct{}{}
	}
	return s.err
}

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	var gate readiness.Gate
	_, err := New(nil, &Options{Services: map[string]*readiness.Gate{"": &gate, Liveness: &gate, "shop.Orders": nil, "shop.Search": &gate}})
	if err == nil {
		t.Fatal("New(mistakes) = nil, want an error")
	}
	for _, want := range []string{"gate:", `Services[""]`, `Services["liveness"]`, `Services["shop.Orders"]`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New(mistakes) = %v, want it to name %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "shop.Search") {
		t.Errorf("New(mistakes) = %v, want the good one left alone", err)
	}
}
