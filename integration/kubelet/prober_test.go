package kubelet

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/kubernetes/pkg/probe"
	grpcprobe "k8s.io/kubernetes/pkg/probe/grpc"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/admission/grpcadmission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/readiness"
	"github.com/offtake-go/offtake/readiness/grpcready"
)

const (
	probeTimeout = time.Second      // Kubernetes' default, timeoutSeconds: 1
	patience     = 10 * time.Second // here, where the machine may be busy with other tests
)

// TestTheProbersSeeEachState goes through the life of a gate.
func TestTheProbersSeeEachState(t *testing.T) {
	var gate readiness.Gate
	warm := make(chan struct{})
	gate.Add("upstream", func(ctx context.Context) error {
		select {
		case <-warm:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	ran := make(chan error, 1)
	go func() { ran <- gate.Run(t.Context()) }()

	mux := http.NewServeMux()
	mux.Handle("GET /readyz", &gate)
	mux.Handle("GET /livez", readiness.Live())
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	address := serveHealth(t, &gate)

	check := func(state string, ready probe.Result) {
		t.Helper()
		wantHTTP(t, state, server.URL+"/readyz", ready)
		wantHTTP(t, state, server.URL+"/livez", probe.Success)
		wantGRPC(t, state, address, ready)
	}
	check("warming", probe.Failure)
	close(warm)
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	check("ready", probe.Success)
	gate.Drain()
	check("draining", probe.Failure)
}

// TestTheProbersSucceedUnderFullLoad probes while every place and the whole queue
// of the door are taken, and callers are turned away.
func TestTheProbersSucceedUnderFullLoad(t *testing.T) {
	door, err := admission.New(capacity.Plan{InFlight: 8, Queue: 8, Wait: 2 * time.Second},
		&admission.Options{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { door.Close() })
	var gate readiness.Gate
	if err := gate.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", &gate)
	mux.Handle("GET /livez", readiness.Live())
	mux.Handle("/", door.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second):
		}
	})))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	guard, err := grpcadmission.New(door, nil) // the same places
	if err != nil {
		t.Fatal(err)
	}
	address := serveHealth(t, &gate, grpc.UnaryInterceptor(guard.Unary))
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	t.Cleanup(callers.Wait)
	t.Cleanup(stop)
	for range 64 {
		callers.Go(func() { knock(ctx, server.URL) })
	}
	for door.Stats().Refused["queue_full"] == 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("the door never was full")
		case <-time.After(10 * time.Millisecond):
		}
	}
	var slowest time.Duration
	for range 20 {
		for _, path := range []string{"/readyz", "/livez"} {
			began := time.Now()
			wantHTTP(t, "full", server.URL+path, probe.Success)
			slowest = max(slowest, time.Since(began))
		}
		began := time.Now()
		wantGRPC(t, "full", address, probe.Success)
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("the slowest of 60 probes beside 64 callers took %v; the kubelet would wait %v", slowest, probeTimeout)
}

// knock calls again and again.
func knock(ctx context.Context, url string) {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		} else if errors.Is(err, context.Canceled) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func wantHTTP(t *testing.T, state, address string, want probe.Result) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	req, err := httpprobe.NewProbeRequest(u, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, said, err := httpprobe.New(false).Probe(req, patience)
	if err != nil || got != want {
		t.Errorf("%s: the HTTP prober says %v of %s (%s, %v), want %v", state, got, u.Path, said, err, want)
	}
}

func wantGRPC(t *testing.T, state string, address *net.TCPAddr, want probe.Result) {
	t.Helper()
	got, said, err := grpcprobe.New().Probe("127.0.0.1", "", address.Port, patience, grpcprobe.ProbeOptions{})
	if err != nil || got != want {
		t.Errorf("%s: the gRPC prober says %v (%s, %v), want %v", state, got, said, err, want)
	}
}

// serveHealth serves a gate as gRPC health.
func serveHealth(t *testing.T, gate *readiness.Gate, options ...grpc.ServerOption) *net.TCPAddr {
	t.Helper()
	health, err := grpcready.New(gate, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	grpc_health_v1.RegisterHealthServer(server, health)
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
	return l.Addr().(*net.TCPAddr)
}
