package xds

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/internal/grpctest"
)

// backend is a server of the upstream. It answers health checks: they come with
// their stubs.
type backend struct {
	grpc_health_v1.UnimplementedHealthServer
	answer  func(context.Context) error // nil for a plain success
	address net.Addr
	served  atomic.Int64 // calls
	opened  atomic.Int64 // connections
}

func (b *backend) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	b.served.Add(1)
	if b.answer != nil {
		if err := b.answer(ctx); err != nil {
			return nil, err
		}
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

func newBackend(t *testing.T, answer func(context.Context) error) *backend {
	t.Helper()
	b := &backend{answer: answer}
	b.address = serve(t, &b.opened, func(s *grpc.Server) { grpc_health_v1.RegisterHealthServer(s, b) })
	return b
}

// counting counts the connections that it accepts.
type counting struct {
	net.Listener
	accepted *atomic.Int64
}

func (c counting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.accepted.Add(1)
	}
	return conn, err
}

// serve runs a server on the loopback until the test ends.
func serve(t *testing.T, accepted *atomic.Int64, register func(*grpc.Server)) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	register(s)
	grpctest.Serve(t, s, counting{l, accepted})
	return l.Addr()
}
