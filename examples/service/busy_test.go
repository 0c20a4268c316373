package main

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/internal/loopback"
)

// TestWhatTheUpstreamsSayIsHandedOn: a busy one must not make this service look broken.
func TestWhatTheUpstreamsSayIsHandedOn(t *testing.T) {
	for _, tt := range []struct {
		name       string
		fraud      error
		processor  http.HandlerFunc
		status     int
		retryAfter string
	}{
		{"all is well", nil, nil, 200, ""},
		{"the processor is busy", nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(http.StatusTooManyRequests)
		}, 429, "9"},
		{"the processor is broken", nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 502, ""},
		{"the fraud check is busy", busyFor(t, 7500*time.Millisecond), nil, 429, "8"},
		{"the fraud check is broken", grpcstatus.Error(codes.Internal, "broken"), nil, 502, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			addresses := []string{loopback.Free(t), loopback.Free(t), loopback.Free(t)}
			serveHTTP(t, addresses[0], tt.processor)
			serveHTTP(t, addresses[1], nil)
			serveFraud(t, addresses[2], tt.fraud)
			resp, err := http.Get(startService(t, addresses) + "/checkout")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if got := resp.Header.Get("Retry-After"); resp.StatusCode != tt.status || got != tt.retryAfter {
				t.Errorf("an order = %d with Retry-After %q, want %d with %q", resp.StatusCode, got, tt.status, tt.retryAfter)
			}
		})
	}
}

func busyFor(t *testing.T, wait time.Duration) error {
	t.Helper()
	s, err := grpcstatus.New(codes.ResourceExhausted, "busy").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)})
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

func serveHTTP(t *testing.T, address string, orders http.HandlerFunc) {
	t.Helper()
	l, err := listen(address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if orders != nil && r.Method == http.MethodPost {
			orders(w, r)
		}
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}

func serveFraud(t *testing.T, address string, answer error) {
	t.Helper()
	l, err := listen(address)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if answer != nil {
			return nil, answer
		}
		return next(ctx, req)
	}))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go server.Serve(l)
	t.Cleanup(server.Stop)
}

// startService starts the service, and returns its URL once it is ready.
func startService(t *testing.T, addresses []string) string {
	t.Helper()
	service, err := factory.Open(contractFor(t, addresses), &factory.Options{
		Protocols: plaintext, Registerer: prometheus.NewRegistry(), Spread: time.Millisecond, Propagation: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	app, err := newCheckout(service)
	if err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.Serve(ctx, l, app) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve() = %v, want nil", err)
		}
	})
	url := "http://" + l.Addr().String()
	eventually(t, "ready", func() bool { return status(t, url+"/readyz") == http.StatusOK })
	return url
}
