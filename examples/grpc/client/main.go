// Command client checks payments for fraud over gRPC, through a connection that is
// sized from the traffic.
//
//	go run ./examples/grpc/server &
//	go run ./examples/grpc/client
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/examples/grpc/fraudpb"
	"github.com/offtake-go/offtake/grpcclient"
)

func main() {
	target := flag.String("target", "dns:///127.0.0.1:9000", "the fraud check, as grpc-go names it")
	flag.Parse()
	if err := run(context.Background(), *target, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, target string, out io.Writer) error {
	plan, err := capacity.Demand{
		Rate: 400, Latency: 20 * time.Millisecond, Replicas: 1,
		Streams:  100, // the server's limit on concurrent streams
		Deadline: 500 * time.Millisecond,
	}.Plan()
	if err != nil {
		return err
	}
	conn, err := grpcclient.New(target, plan, &grpcclient.Options{
		Name:        "fraud-check",
		Credentials: insecure.NewCredentials(), // on this machine; the default is TLS
		Keepalive:   keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true},
		Methods: map[string]grpcclient.Method{
			fraudpb.Fraud_Check_FullMethodName: {Retry: []codes.Code{codes.Unavailable}},
		},
		Warm: func(ctx context.Context, cc grpc.ClientConnInterface) error {
			_, err := fraudpb.NewFraudClient(cc).Check(ctx, &fraudpb.CheckRequest{})
			return err
		},
	})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Warm(ctx); err != nil {
		return err
	}
	if err := check(ctx, fraudpb.NewFraudClient(conn), plan.InFlight, out); err != nil {
		return err
	}
	shutdown, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return conn.Shutdown(shutdown)
}

// check scores n payments at once, and listens for three alerts.
func check(ctx context.Context, fraud fraudpb.FraudClient, n int, out io.Writer) error {
	var (
		group  sync.WaitGroup
		scores = make([]int32, n)
		errs   = make([]error, n)
	)
	for i := range scores {
		group.Go(func() {
			resp, err := fraud.Check(ctx, &fraudpb.CheckRequest{Card: "4000", Cents: int64(i) * 1000})
			scores[i], errs[i] = resp.GetScore(), err
		})
	}
	group.Wait()
	busy, sum := 0, int32(0)
	for i, err := range errs {
		if errors.Is(err, offtake.ErrBusy) {
			busy++ // nothing was sent: say 429, or RESOURCE_EXHAUSTED, to whoever asked
		} else if err != nil {
			return err
		}
		sum += scores[i]
	}
	fmt.Fprintf(out, "%d payments checked, %d refused here, scores add up to %d\n", n, busy, sum)

	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream, and gives its place back
	alerts, err := fraud.Watch(ctx, &fraudpb.WatchRequest{Card: "4000"})
	if err != nil {
		return err
	}
	for range 3 {
		alert, err := alerts.Recv()
		if err != nil {
			return err
		}
		fmt.Fprintln(out, alert.GetText())
	}
	return nil
}
