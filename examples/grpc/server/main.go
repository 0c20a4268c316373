// Command server is a fraud check over gRPC: a door in front of it, a health
// service that is the readiness gate, and a stop that loses no call.
//
//	go run ./examples/grpc/server
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/admission/grpcadmission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/examples/grpc/fraudpb"
	"github.com/offtake-go/offtake/readiness"
	"github.com/offtake-go/offtake/readiness/grpcready"
)

func main() {
	address := flag.String("address", "127.0.0.1:9000", "where to listen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *address)
	if err == nil {
		fmt.Println("listening on", l.Addr())
		err = run(ctx, l)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// streams is how many calls one connection may carry. Clients read it, and size
// their pools by it.
const streams = 100

func run(ctx context.Context, l net.Listener) error {
	door, err := admission.New(capacity.Plan{InFlight: 64, Wait: 50 * time.Millisecond}, &admission.Options{Name: "fraud"})
	if err != nil {
		return err
	}
	defer door.Close()
	guard, err := grpcadmission.New(door, nil)
	if err != nil {
		return err
	}
	var ready readiness.Gate
	health, err := grpcready.New(&ready, nil)
	if err != nil {
		return err
	}
	srv := grpc.NewServer(
		grpc.ChainUnaryInterceptor(guard.Unary), // watches last, and do not go through this door
		grpc.MaxConcurrentStreams(streams),
		grpc.WaitForHandlers(true),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 10 * time.Minute, MaxConnectionAgeGrace: 30 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	)
	fraudpb.RegisterFraudServer(srv, new(fraud))
	grpc_health_v1.RegisterHealthServer(srv, health)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	if err := ready.Run(ctx); err != nil {
		srv.Stop()
		return err
	}
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return health.Shutdown(drain, srv)
}

// fraud is the service itself.
type fraud struct {
	fraudpb.UnimplementedFraudServer
}

// Check implements fraudpb.FraudServer.
func (*fraud) Check(ctx context.Context, in *fraudpb.CheckRequest) (*fraudpb.CheckResponse, error) {
	select {
	case <-time.After(20 * time.Millisecond): // a model thinks
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return &fraudpb.CheckResponse{Score: int32(min(100, in.GetCents()/1000))}, nil
}

// Watch implements fraudpb.FraudServer.
func (*fraud) Watch(in *fraudpb.WatchRequest, out grpc.ServerStreamingServer[fraudpb.Alert]) error {
	for i := 1; ; i++ {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-out.Context().Done():
			return context.Cause(out.Context())
		}
		if err := out.Send(&fraudpb.Alert{Text: fmt.Sprintf("alert %d for %s", i, in.GetCard())}); err != nil {
			return err
		}
	}
}
