package grpcadmission_test

import (
	"fmt"

	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/admission/grpcadmission"
	"github.com/offtake-go/offtake/capacity"
)

func Example() {
	door, err := admission.New(capacity.Plan{InFlight: 64}, &admission.Options{Name: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer door.Close()
	streams, err := admission.New(capacity.Plan{InFlight: 16, Queue: capacity.NoQueue}, &admission.Options{Name: "order-streams"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer streams.Close()

	calls, err := grpcadmission.New(door, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	lasting, err := grpcadmission.New(streams, &grpcadmission.Options{Exempt: []string{"/orders.Orders/Watch"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := grpc.NewServer(
		grpc.ChainUnaryInterceptor(calls.Unary),
		grpc.ChainStreamInterceptor(lasting.Stream),
		grpc.MaxConcurrentStreams(100), // of one connection; without it, a client may open any number
		grpc.WaitForHandlers(true),
	)
	defer srv.Stop()
	fmt.Println(door.Stats().Places, "places for calls,", streams.Stats().Places, "for streams")
	// Output: 64 places for calls, 16 for streams
}
