package grpcfactory_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/factory/grpcfactory"
	"github.com/offtake-go/offtake/grpcclient"
	"github.com/offtake-go/offtake/internal/grpctest"
)

// open opens a service of a file.
func open(t *testing.T, file string, o factory.Options) *factory.Service {
	t.Helper()
	path := filepath.Join(t.TempDir(), "offtake.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Logger = slog.New(slog.DiscardHandler)
	o.Registerer = prometheus.NewRegistry()
	o.Propagation, o.Spread = time.Millisecond, time.Millisecond
	s, err := factory.Open(path, &o)
	if err != nil {
		t.Fatalf("Open() = %v, want nil", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve serves until stop is called, which returns what ServeOn returned.
func serve(t *testing.T, s *factory.Service, on ...factory.Listener) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.ServeOn(ctx, on...) }()
	t.Cleanup(cancel)
	<-s.Ready().Opened()
	return func() error {
		cancel()
		return <-done
	}
}

func plaintext(name string) []factory.Protocol {
	return []factory.Protocol{grpcfactory.Protocol(map[string]grpcclient.Options{name: {Credentials: insecure.NewCredentials()}})}
}

func TestAnUpstreamHasOneConnection(t *testing.T) {
	s := open(t, `
service: a
replicas: {min: 1}
upstreams:
  fraud: {target: "127.0.0.1:1", protocol: grpc, inFlight: 2}
  ledger: {target: "http://127.0.0.1:2", inFlight: 1}
`, factory.Options{Protocols: plaintext("fraud")})
	a, err := grpcfactory.Conn(s, "fraud")
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := grpcfactory.Conn(s, "fraud"); a != b {
		t.Error("Conn(fraud) twice = two connections, want one")
	}
	if _, err := grpcfactory.Conn(s, "ledger"); err == nil || !strings.Contains(err.Error(), "Service.HTTP") {
		t.Errorf("Conn(ledger) = %v, want an error that names Service.HTTP", err)
	}
	if _, err := grpcfactory.Conn(s, "frud"); err == nil || !strings.Contains(err.Error(), `"fraud"`) {
		t.Errorf("Conn(frud) = %v, want an error that names fraud", err)
	}
	if c, _ := s.Client("fraud"); c.State().Plan.InFlight != 2 {
		t.Errorf("State() = %+v, want the file's 2 places", c.State())
	}
}

// A stream that no request holds, as of a watch, lasts until the clients are closed.
func TestAnEndlessStreamIsEndedAtTheEndOfDrain(t *testing.T) {
	l, server := listen(t), grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	grpctest.Serve(t, server, l)
	s := open(t, fmt.Sprintf("service: a\nreplicas: {min: 1}\nupstreams: {fraud: {target: %q, protocol: grpc, inFlight: 2}}\n", l.Addr()),
		factory.Options{Drain: 200 * time.Millisecond, Protocols: plaintext("fraud")})
	fraud, err := grpcfactory.Conn(s, "fraud")
	if err != nil {
		t.Fatal(err)
	}
	stop := serve(t, s, factory.Listener{Net: listen(t), Handler: http.NotFoundHandler()})
	watch, err := grpc_health_v1.NewHealthClient(fraud).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	if err := stop(); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "upstream fraud") {
		t.Errorf("ServeOn() = %v, want it to say that Drain was not enough for fraud", err)
	}
	if _, err := watch.Recv(); err == nil {
		t.Error("Recv() after the stop = nil, want an error")
	}
}
