package integration

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds" // registers the outlier detection
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/admission/grpcadmission"
	"github.com/offtake-go/offtake/capacity"
)

const workMethod = "/offtake.test.Work/Do"

// grpcRows have grpc-go's own outlier detection in the client, as gRFC A50 has it:
// any code but OK is a failure.
func grpcRows() []busyRow {
	with := func(threshold, mostEjected int, busy codes.Code) func(*testing.T) (int, int) {
		return func(t *testing.T) (int, int) { return behindOutlierDetection(t, threshold, mostEjected, busy) }
	}
	return []busyRow{
		{"grpc-go `failurePercentageEjection`, threshold 20, `maxEjectionPercent` 100", "UNAVAILABLE", lost(), with(20, 100, codes.Unavailable)},
		{"grpc-go, the same", "RESOURCE_EXHAUSTED", lost(), with(20, 100, codes.ResourceExhausted)},
		{"grpc-go, the same with `maxEjectionPercent` 10", "RESOURCE_EXHAUSTED", oneOut(), with(20, 10, codes.ResourceExhausted)},
		{"grpc-go, threshold 85 (the default), `maxEjectionPercent` 100", "RESOURCE_EXHAUSTED", kept(), with(85, 100, codes.ResourceExhausted)},
	}
}

func behindOutlierDetection(t *testing.T, threshold, mostEjected int, busy codes.Code) (served, all int) {
	t.Helper()
	addresses := make([]resolver.Endpoint, busyReplicas)
	for i := range addresses {
		addresses[i].Addresses = []resolver.Address{{Addr: newGRPCReplica(t, fmt.Sprintf("grpc-%d", i), busy)}}
	}
	scheme := manual.NewBuilderWithScheme("replicas")
	scheme.InitialState(resolver.State{Endpoints: addresses})
	config := fmt.Sprintf(`{"loadBalancingConfig": [{"outlier_detection_experimental": {
		"interval": "1s", "baseEjectionTime": "10s", "maxEjectionPercent": %d,
		"failurePercentageEjection": {"threshold": %d, "enforcementPercentage": 100, "minimumHosts": 3, "requestVolume": 10},
		"childPolicy": [{"round_robin": {}}]}}]}`, mostEjected, threshold)
	conn, err := grpc.NewClient("replicas:///", grpc.WithResolvers(scheme),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	answers := load(t.Context(), busyRate, busyFor, func(ctx context.Context) codes.Code {
		return status.Code(conn.Invoke(ctx, workMethod, new(emptypb.Empty), new(emptypb.Empty)))
	})
	t.Logf("answers by code: %v", answers)
	for _, n := range answers {
		all += n
	}
	return answers[codes.OK], all
}

// newGRPCReplica is a server behind a door, which answers RESOURCE_EXHAUSTED when
// it is busy.
func newGRPCReplica(t *testing.T, name string, busy codes.Code) (address string) {
	t.Helper()
	door, err := admission.New(capacity.Plan{InFlight: replicaPlaces, Queue: capacity.NoQueue},
		&admission.Options{Name: name, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { door.Close() })
	guard, err := grpcadmission.New(door, nil)
	if err != nil {
		t.Fatal(err)
	}
	relabel := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		resp, err := handler(ctx, req)
		if status.Code(err) == codes.ResourceExhausted {
			err = status.Error(busy, "busy")
		}
		return resp, err
	}
	srv := grpc.NewServer(grpc.ChainUnaryInterceptor(relabel, guard.Unary))
	srv.RegisterService(&workService, nil)
	return serveGRPC(t, srv)
}

// serveGRPC serves until the test ends.
func serveGRPC(t *testing.T, server *grpc.Server) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return l.Addr().String()
}

// workService has one method, which takes its time.
var workService = grpc.ServiceDesc{
	ServiceName: "offtake.test.Work",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Do",
		Handler: func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
			in := new(emptypb.Empty)
			if err := decode(in); err != nil {
				return nil, err
			}
			return intercept(ctx, in, &grpc.UnaryServerInfo{FullMethod: workMethod}, func(ctx context.Context, _ any) (any, error) {
				work(ctx)
				return new(emptypb.Empty), ctx.Err()
			})
		},
	}},
}
