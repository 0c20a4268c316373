package grpcadmission

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
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
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
