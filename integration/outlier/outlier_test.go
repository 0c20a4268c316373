package outlier

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds" // registers outlier detection

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/grpcclient"
	"github.com/offtake-go/offtake/internal/grpctest"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// ejecting is gRPC's own outlier detection around the policy of grpcclient: it
// leaves out, for 30 s, servers of which more than half of the answers are errors.
const ejecting = `{"loadBalancingConfig":[{"outlier_detection_experimental":{
	"interval":"0.5s","baseEjectionTime":"30s","maxEjectionTime":"300s","maxEjectionPercent":50,
	"failurePercentageEjection":{"threshold":50,"enforcementPercentage":100,"minimumHosts":5,"requestVolume":10},
	"childPolicy":[{"` + grpcclient.Policy + `":{}}]}}]}`

// backend answers health checks, with an error if it has one.
type backend struct {
	grpc_health_v1.UnimplementedHealthServer
	code   atomic.Uint32
	takes  time.Duration
	served atomic.Int64
}

func (b *backend) Check(context.Context, *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	b.served.Add(1)
	<-time.After(b.takes)
	if code := codes.Code(b.code.Load()); code != codes.OK {
		return nil, status.Error(code, "as the test has it")
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

// five starts as many backends and a client of them with outlier detection.
func five(t *testing.T, plan capacity.Plan, takes time.Duration) ([]*backend, *grpcclient.Conn) {
	t.Helper()
	var (
		backends  []*backend
		listeners = map[string]*pipenet.Listener{}
		state     resolver.State
	)
	for i := range 5 {
		b, l, address := &backend{takes: takes}, pipenet.Listen(), fmt.Sprintf("backend-%d", i)
		backends, listeners[address] = append(backends, b), l
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: address}}})
		srv := grpc.NewServer()
		grpc_health_v1.RegisterHealthServer(srv, b)
		grpctest.Serve(t, srv, l)
	}
	names := manual.NewBuilderWithScheme("five")
	names.InitialState(state)
	conn, err := grpcclient.New("five:///backends", plan, &grpcclient.Options{
		Credentials:   insecure.NewCredentials(),
		Resolvers:     []resolver.Builder{names},
		ServiceConfig: ejecting,
		Registerer:    prometheus.NewRegistry(),
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			return listeners[address].Dial(ctx, "", address)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.Warm(t.Context()); err != nil {
		t.Fatalf("Warm() = %v, want nil", err)
	}
	return backends, conn
}

// ask calls n times, a millisecond apart, and returns how often each backend was
// asked meanwhile.
func ask(conn *grpcclient.Conn, backends []*backend, n int) []int64 {
	before := make([]int64, len(backends))
	for i, b := range backends {
		before[i] = b.served.Load()
	}
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
		})
		<-time.After(time.Millisecond)
	}
	group.Wait()
	for i, b := range backends {
		before[i] = b.served.Load() - before[i]
	}
	return before
}

func TestCallsRefusedHereEjectNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := capacity.Plan{InFlight: 5, Queue: capacity.NoQueue, Attempts: capacity.NoRetry}
		backends, conn := five(t, plan, 20*time.Millisecond)
		ask(conn, backends, 2000) // four times what there are places for
		if got := conn.Stats().Refused; got < 1000 {
			t.Errorf("calls refused = %d of 2000, want most", got)
		}
		for i, n := range ask(conn, backends, 1000) {
			if n == 0 {
				t.Errorf("calls of backend %d after many refusals = 0, want its share: it has done nothing", i)
			}
		}
	})
}

// TestAServerThatSaysBusyIsEjectedByGRPCsOwnOutlierDetection shows what no code of
// a server can change: gRPC counts every error. It is why the docs advise to keep
// the share of ejected hosts low, or to bound calls here.
func TestAServerThatSaysBusyIsEjectedByGRPCsOwnOutlierDetection(t *testing.T) {
	for _, code := range []codes.Code{codes.ResourceExhausted, codes.NotFound, codes.Unavailable} {
		t.Run(code.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan := capacity.Plan{InFlight: 20, Attempts: capacity.NoRetry}
				backends, conn := five(t, plan, 0)
				backends[0].code.Store(uint32(code))
				ask(conn, backends, 1000)
				got := ask(conn, backends, 1000)
				if got[0] != 0 {
					t.Errorf("calls of the backend that answers %v = %d of 1000, want 0", code, got[0])
				}
				for i, n := range got[1:] {
					if n < 150 {
						t.Errorf("calls of backend %d = %d of 1000, want a quarter", i+1, n)
					}
				}
			})
		})
	}
}
