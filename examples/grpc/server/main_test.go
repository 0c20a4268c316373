package main

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/examples/grpc/fraudpb"
	"github.com/offtake-go/offtake/grpcclient"
)

func TestTheServerAnswersUntilItIsStoppedAndLosesNoCall(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var (
		serving sync.WaitGroup
		result  error
	)
	serving.Go(func() { result = run(ctx, l) })
	conn, err := grpcclient.New(l.Addr().String(), capacity.Plan{InFlight: 4}, &grpcclient.Options{
		Credentials: insecure.NewCredentials(), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Warm(ctx); err != nil {
		t.Fatalf("Warm() = %v, want nil", err)
	}
	fraud := fraudpb.NewFraudClient(conn)
	got, err := fraud.Check(ctx, &fraudpb.CheckRequest{Cents: 42_000})
	if err != nil || got.GetScore() != 42 {
		t.Errorf("Check(42000 cents) = %v, %v, want a score of 42", got, err)
	}
	watching, leave := context.WithCancel(context.Background())
	defer leave()
	alerts, err := fraud.Watch(watching, &fraudpb.WatchRequest{Card: "4000"})
	if err != nil {
		t.Fatal(err)
	}
	if alert, err := alerts.Recv(); err != nil || alert.GetText() != "alert 1 for 4000" {
		t.Errorf("first alert = %v, %v, want alert 1 for 4000", alert, err)
	}
	var calling sync.WaitGroup
	calling.Go(func() {
		if _, err := fraud.Check(context.Background(), &fraudpb.CheckRequest{}); err != nil && status.Code(err) != codes.Unavailable {
			t.Errorf("Check() during the stop = %v, want an answer, or UNAVAILABLE if it came too late", err)
		}
	})
	stop()
	leave() // the watch would hold the server to the end of its time
	calling.Wait()
	serving.Wait()
	if result != nil {
		t.Errorf("run() = %v, want nil", result)
	}
}
