package xds

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/xds"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/grpcclient"
)

// patience bounds what a test waits for. Nothing here takes a thousandth of it.
const patience = 30 * time.Second

// plan has three channels.
var plan = capacity.Plan{InFlight: 30, Streams: 10, Queue: 300, Wait: patience, Attempt: 2 * patience, Deadline: 3 * patience, Attempts: capacity.NoRetry}

// dial makes a client of the mesh's upstream.
func dial(t *testing.T, m *mesh, plan capacity.Plan) *grpcclient.Conn {
	t.Helper()
	names, err := xds.NewXDSResolverWithConfigForTesting(m.bootstrap())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpcclient.New(target, plan, &grpcclient.Options{
		Credentials: insecure.NewCredentials(),
		Resolvers:   []resolver.Builder{names},
		Registerer:  prometheus.NewRegistry(),
		Methods:     map[string]grpcclient.Method{grpc_health_v1.Health_Check_FullMethodName: {Retry: []codes.Code{codes.Unavailable}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func warm(t *testing.T, conn *grpcclient.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := conn.Warm(ctx); err != nil {
		t.Fatalf("Warm() = %v, want nil", err)
	}
}

func ask(conn *grpcclient.Conn) error {
	_, err := grpc_health_v1.NewHealthClient(conn).Check(context.Background(), &grpc_health_v1.HealthCheckRequest{})
	return err
}

// until has met be true after some of what do does.
func until(t *testing.T, what string, do func(), met func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		do()
		if met() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// crowd makes so many calls at once, and wants all of them to pass.
func crowd(t *testing.T, conn *grpcclient.Conn, n int) {
	t.Helper()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if err := ask(conn); err != nil {
				t.Errorf("call = %v, want nil", err)
			}
		})
	}
	group.Wait()
}

func TestWarmOpensAChannelForEachConnectionOfThePlan(t *testing.T) {
	backends := []*backend{newBackend(t, nil), newBackend(t, nil)}
	conn := dial(t, newMesh(t, backends...), plan)
	warm(t, conn)
	if got := conn.Stats().Open; got != 3 {
		t.Errorf("channels after Warm = %d, want 3", got)
	}
	// A channel is ready when the first of its connections is.
	until(t, "calls to both backends, on a connection from each channel", func() { crowd(t, conn, 100) }, func() bool {
		return !slices.ContainsFunc(backends, func(b *backend) bool { return b.served.Load() == 0 || b.opened.Load() < 3 })
	})
	for i, b := range backends {
		if got := b.opened.Load(); got != 3 {
			t.Errorf("connections to backend %d = %d, want 3", i, got)
		}
	}
	if s := conn.Stats(); s.InFlight != 0 || s.Queued != 0 {
		t.Errorf("in flight, queued after all calls = %d, %d, want 0, 0", s.InFlight, s.Queued)
	}
}

func TestAChangeOfEndpointsIsFollowed(t *testing.T) {
	old, stays, fresh := newBackend(t, nil), newBackend(t, nil), newBackend(t, nil)
	m := newMesh(t, old, stays)
	conn := dial(t, m, plan)
	warm(t, conn)
	m.name(t, stays, fresh)
	var before, had int64
	until(t, "calls to the backend that has come, and none to the one that has gone", func() {
		before, had = old.served.Load(), fresh.served.Load()
		crowd(t, conn, 30)
	}, func() bool { return old.served.Load() == before && fresh.served.Load() > had })
}

// TestTheRetriesOfARouteAreOff: it has four, and the plan one.
func TestTheRetriesOfARouteAreOff(t *testing.T) {
	b := newBackend(t, func(context.Context) error { return status.Error(codes.Unavailable, "as the test has it") })
	p := plan
	p.Attempts, p.Attempt, p.Wait = 2, patience, patience/2
	conn := dial(t, newMesh(t, b), p)
	err := ask(conn)
	if e, ok := errors.AsType[*grpcclient.RetryError](err); !ok || e.Attempts != 2 || status.Code(err) != codes.Unavailable {
		t.Errorf("call = %v, want UNAVAILABLE after the plan's 2 attempts", err)
	}
	if got := b.served.Load(); got != 2 {
		t.Errorf("calls of the backend = %d, want 2", got)
	}
}

func TestTheShorterOfThePlansDeadlineAndTheRoutesWins(t *testing.T) {
	for _, tt := range []struct {
		attempt, route time.Duration
		own            bool
	}{{2 * time.Second, time.Hour, true}, {patience, 2 * time.Second, false}} {
		b := newBackend(t, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		m := newMesh(t, b)
		m.bound = tt.route
		m.name(t, b)
		p := plan
		p.Attempt, p.Wait = tt.attempt, time.Second
		conn := dial(t, m, p)
		warm(t, conn)
		err := ask(conn)
		if _, own := errors.AsType[*grpcclient.TimeoutError](err); own != tt.own || status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("call with %v for an attempt and %v on the route = %v, want DEADLINE_EXCEEDED, by the plan: %v", tt.attempt, tt.route, err, tt.own)
		}
		if got := b.served.Load(); got != 1 {
			t.Errorf("calls of the backend = %d, want 1", got)
		}
	}
}

func TestWarmSaysThatThereIsNobody(t *testing.T) {
	conn := dial(t, newMesh(t), plan)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if e, ok := errors.AsType[*grpcclient.WarmError](conn.Warm(ctx)); !ok || e.Got != 0 || ctx.Err() != nil {
		t.Errorf("Warm() with no endpoint = %v, %v, want a *WarmError before the context ends", e, ctx.Err())
	}
}

func TestCloseLeavesNoGoroutine(t *testing.T) {
	m := newMesh(t, newBackend(t, nil))
	before := runtime.NumGoroutine()
	conn := dial(t, m, plan)
	warm(t, conn)
	if err := ask(conn); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := ask(conn); !errors.Is(err, offtake.ErrClosed) {
		t.Errorf("call after Close = %v, want %v", err, offtake.ErrClosed)
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1) // to memory: it can't fail
			t.Fatalf("%d goroutines after Close, and %d before New\n%s", runtime.NumGoroutine(), before, &stacks)
		}
	}
}
