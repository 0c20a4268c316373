package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// startUpstreams starts stand-ins for what the service calls, each as slow as the
// file says.
func startUpstreams(processor, ledger, fraud string) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for address, latency := range map[string]time.Duration{processor: 20 * time.Millisecond, ledger: 5 * time.Millisecond} {
		l, err := listen(address)
		if err != nil {
			stop()
			return nil, err
		}
		server := &http.Server{Handler: slow(latency), ReadHeaderTimeout: time.Minute}
		go server.Serve(l)
		stops = append(stops, func() { server.Close() })
	}
	l, err := listen(fraud)
	if err != nil {
		stop()
		return nil, err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(slowly(5 * time.Millisecond)))
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go server.Serve(l)
	stops = append(stops, server.Stop)
	return stop, nil
}

func listen(address string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(context.Background(), "tcp", address)
}

func slow(latency time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pause(r.Context(), latency) == nil {
			fmt.Fprintln(w, "ok")
		}
	})
}

func slowly(latency time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if err := pause(ctx, latency); err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
