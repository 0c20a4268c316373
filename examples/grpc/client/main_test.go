package main

import (
	"bytes"
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/examples/grpc/fraudpb"
)

// steady answers every check with one and sends three alerts.
type steady struct {
	fraudpb.UnimplementedFraudServer
}

func (steady) Check(context.Context, *fraudpb.CheckRequest) (*fraudpb.CheckResponse, error) {
	return &fraudpb.CheckResponse{Score: 1}, nil
}

func (steady) Watch(_ *fraudpb.WatchRequest, out grpc.ServerStreamingServer[fraudpb.Alert]) error {
	for _, text := range []string{"one", "two", "three"} {
		if err := out.Send(&fraudpb.Alert{Text: text}); err != nil {
			return err
		}
	}
	return nil
}

func TestTheClientChecksAndListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.MaxConcurrentStreams(100))
	fraudpb.RegisterFraudServer(srv, steady{})
	go srv.Serve(l)
	defer srv.Stop()
	var out bytes.Buffer
	if err := run(t.Context(), l.Addr().String(), &out); err != nil {
		t.Fatalf("run() = %v, want nil", err)
	}
	if got, want := out.String(), "81 payments checked, 0 refused here, scores add up to 81\none\ntwo\nthree\n"; got != want {
		t.Errorf("run() wrote %q, want %q", got, want)
	}
}

func TestTheClientSaysWhyItDoesNotStart(t *testing.T) {
	if err := run(t.Context(), "127.0.0.1:1", new(bytes.Buffer)); err == nil {
		t.Error("run() without a server = nil, want the dial's error")
	}
}
