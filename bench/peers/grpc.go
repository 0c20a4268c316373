package peers

import (
	"context"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/failsafe-go/failsafe-go/failsafegrpc"
	grpcretry "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/retry"
	grpctimeout "github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/timeout"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/grpcclient"
)

// GRPC is one way to call over gRPC.
type GRPC struct {
	Name   string
	Module string
	Does   string

	// New connects to an address, for a number of calls at once, each with a
	// deadline.
	New func(address string, inFlight int, deadline time.Duration) (call func(context.Context) error, stop func(), err error)
}

// GRPCStacks are all of them, the bare one first. Every call has a deadline.
func GRPCStacks() []GRPC {
	return []GRPC{
		{"grpc-go", "google.golang.org/grpc", "a deadline", dialed()},
		{"grpc-go, service config", "google.golang.org/grpc", "retries with throttling", dialed(grpc.WithDefaultServiceConfig(retries))},
		{"go-grpc-middleware", "github.com/grpc-ecosystem/go-grpc-middleware/v2", "retries and a timeout", dialed(grpc.WithChainUnaryInterceptor(
			grpctimeout.UnaryClientInterceptor(10*time.Second),
			grpcretry.UnaryClientInterceptor(grpcretry.WithMax(attempts), grpcretry.WithCodes(codes.Unavailable)),
		))},
		{"failsafe-go", "github.com/failsafe-go/failsafe-go", "retries", dialed(grpc.WithUnaryInterceptor(
			failsafegrpc.NewUnaryClientInterceptor[any](failsafegrpc.NewRetryPolicyBuilder[any]().WithMaxRetries(attempts - 1).Build()),
		))},
		{"connect-go", "connectrpc.com/connect", "another engine, over net/http", newConnect},
		{"otelgrpc, no SDK", "go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc", "spans and metrics that nobody takes", dialed(grpc.WithStatsHandler(otelgrpc.NewClientHandler()))},
		{"offtake", "github.com/offtake-go/offtake", "queue, deadlines, retry budget, all metrics", newOfftakeGRPC},
	}
}

const retries = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 3, "initialBackoff": "0.025s", "maxBackoff": "0.25s",
	"backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}], "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}}`

func dialed(options ...grpc.DialOption) func(string, int, time.Duration) (func(context.Context) error, func(), error) {
	return func(address string, _ int, deadline time.Duration) (func(context.Context) error, func(), error) {
		conn, err := grpc.NewClient(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			return nil, nil, err
		}
		return check(conn, deadline), func() { conn.Close() }, nil
	}
}

func newOfftakeGRPC(address string, inFlight int, deadline time.Duration) (func(context.Context) error, func(), error) {
	plan := capacity.Plan{InFlight: inFlight, Streams: inFlight, Deadline: deadline, Attempts: attempts}
	conn, err := grpcclient.New(address, plan, &grpcclient.Options{
		Name: "upstream", Credentials: insecure.NewCredentials(), Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		return nil, nil, err
	}
	return check(conn, 0), func() { conn.Close() }, nil
}

func newConnect(address string, _ int, deadline time.Duration) (func(context.Context) error, func(), error) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	client := connect.NewClient[grpc_health_v1.HealthCheckRequest, grpc_health_v1.HealthCheckResponse](
		&http.Client{Transport: transport}, "http://"+address+grpc_health_v1.Health_Check_FullMethodName, connect.WithGRPC())
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		_, err := client.CallUnary(ctx, connect.NewRequest(new(grpc_health_v1.HealthCheckRequest)))
		return err
	}, transport.CloseIdleConnections, nil
}

// check is one call of grpc's own health service, with a deadline unless the client
// has one itself.
func check(conn grpc.ClientConnInterface, deadline time.Duration) func(context.Context) error {
	client := grpc_health_v1.NewHealthClient(conn)
	return func(ctx context.Context) error {
		if deadline > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, deadline)
			defer cancel()
		}
		_, err := client.Check(ctx, new(grpc_health_v1.HealthCheckRequest))
		return err
	}
}
