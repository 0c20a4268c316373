package grpcadmission

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	testpb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/grpctest"
)

// service is grpc's own test service with handlers to choose.
type service struct {
	testpb.UnimplementedTestServiceServer
	unary  func(context.Context) error
	stream func(grpc.ServerStream) error
}

func (s *service) EmptyCall(ctx context.Context, _ *testpb.Empty) (*testpb.Empty, error) {
	if s.unary == nil {
		return &testpb.Empty{}, nil
	}
	return &testpb.Empty{}, s.unary(ctx)
}

func (s *service) FullDuplexCall(ss grpc.BidiStreamingServer[testpb.StreamingOutputCallRequest, testpb.StreamingOutputCallResponse]) error {
	if s.stream == nil {
		return nil
	}
	return s.stream(ss)
}

func newDoor(t *testing.T, plan capacity.Plan) *admission.Door {
	t.Helper()
	door, err := admission.New(plan, &admission.Options{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { door.Close() })
	return door
}

func newGuard(t *testing.T, door *admission.Door, o *Options) *Guard {
	t.Helper()
	g, err := New(door, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// start serves s behind g, and returns a connection to it.
func start(t *testing.T, g *Guard, s *service, register func(*grpc.Server), options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	recovered := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (resp any, err error) {
		defer func() {
			if recover() != nil {
				err = context.Canceled
			}
		}()
		return h(ctx, req)
	}
	srv := grpc.NewServer(grpc.ChainUnaryInterceptor(recovered, g.Unary), grpc.ChainStreamInterceptor(g.Stream))
	testpb.RegisterTestServiceServer(srv, s)
	if register != nil {
		register(srv)
	}
	return grpctest.Dial(t, srv, options...)
}
