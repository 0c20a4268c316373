package grpcready_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/readiness"
	"github.com/offtake-go/offtake/readiness/grpcready"
)

func Example() {
	var ready readiness.Gate
	ready.Add("fraud-check", func(context.Context) error { return nil }) // a client's Warm, in a service

	health, err := grpcready.New(&ready, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := grpc.NewServer()
	healthpb.RegisterHealthServer(srv, health)

	ask := func(service string) {
		resp, err := health.Check(context.Background(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q %v\n", service, resp.Status)
	}
	ask("")
	if err := ready.Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	ask("")
	if err := health.Shutdown(context.Background(), srv); err != nil {
		fmt.Println(err)
	}
	ask("")
	ask(grpcready.Liveness)
	// Output:
	// "" NOT_SERVING
	// "" SERVING
	// "" NOT_SERVING
	// "liveness" SERVING
}
