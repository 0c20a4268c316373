package grpcclient_test

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/grpcclient"
)

func Example() {
	plan, err := capacity.Demand{
		Rate: 2000, Latency: 40 * time.Millisecond, Replicas: 4,
		Streams:  100, // the server's limit on concurrent streams
		Deadline: 300 * time.Millisecond,
	}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	orders, err := grpcclient.New("dns:///orders.example:9000", plan, &grpcclient.Options{
		Credentials: insecure.NewCredentials(),
		Methods: map[string]grpcclient.Method{
			"/shop.Orders/Find":  {Retry: []codes.Code{codes.Unavailable}}, // to find twice is to find once
			"/shop.Orders/Watch": {Idle: 5 * time.Minute},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()

	// Any generated stub takes it; this one is of the health service.
	_ = grpc_health_v1.NewHealthClient(orders)
	fmt.Println(orders.Stats().Places, "places on", orders.Stats().Plan.Connections, "connection")
	// Output: 64 places on 1 connection
}

// A refused call tells who refused it.
func ExampleReasonOf() {
	conn, err := grpcclient.New("dns:///orders.example:9000", capacity.Plan{InFlight: 1}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	conn.Close()
	err = conn.Invoke(context.Background(), "/shop.Orders/Find", nil, nil)
	fmt.Println(grpcclient.ReasonOf(err))
	// Output: CLIENT_CLOSED
}
