package grpcclient

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	_ "google.golang.org/grpc/health" // has healthCheckConfig watch
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/admission/grpcadmission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
	"github.com/offtake-go/offtake/readiness"
	"github.com/offtake-go/offtake/readiness/grpcready"
)

// guarded is a server with a door of one place and no queue in front, and a health
// service.
type guarded struct {
	listener *pipenet.Listener
	door     *admission.Door
	guard    *grpcadmission.Guard
	gate     readiness.Gate
	health   *grpcready.Server
	server   *grpc.Server
}

func newGuarded(t *testing.T, u *upstream, plan capacity.Plan) *guarded {
	t.Helper()
	g := &guarded{listener: pipenet.Listen()}
	var err error
	if g.door, err = admission.New(plan, &admission.Options{Registerer: prometheus.NewRegistry()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.door.Close() })
	if g.guard, err = grpcadmission.New(g.door, nil); err != nil {
		t.Fatal(err)
	}
	if g.health, err = grpcready.New(&g.gate, nil); err != nil {
		t.Fatal(err)
	}
	g.server = grpc.NewServer(grpc.ChainUnaryInterceptor(g.guard.Unary), grpc.ChainStreamInterceptor(g.guard.Stream), grpc.MaxConcurrentStreams(10))
	grpc_health_v1.RegisterHealthServer(g.server, g.health)
	u.register(g.server)
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.server.Serve(g.listener)
	}()
	t.Cleanup(func() {
		g.server.Stop()
		<-done
	})
	return g
}

func (g *guarded) open(t *testing.T) {
	t.Helper()
	if err := g.gate.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (g *guarded) client(t *testing.T, plan capacity.Plan, o *Options) *Conn {
	t.Helper()
	if o == nil {
		o = new(Options)
	}
	o.Dial = pipeDial(g.listener)
	return dial(t, "passthrough:///upstream", plan, o)
}

var onePlace = capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}

func TestOneCodeHasThreeReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, &upstream{call: slow(10 * time.Second)}, onePlace)
		c := g.client(t, capacity.Plan{InFlight: 2, Queue: capacity.NoQueue, Deadline: 20 * time.Second, Attempts: capacity.NoRetry}, nil)
		warm(t, c)
		var group sync.WaitGroup
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()

		err := ask(t.Context(), c)
		wantCode(t, err, codes.ResourceExhausted, ServerBusy)
		if errors.Is(err, offtake.ErrBusy) {
			t.Errorf("errors.Is(%v, offtake.ErrBusy) = true, want false: it was sent", err)
		}
		err = c.Invoke(t.Context(), methodCall, wrapperspb.Bytes(make([]byte, 5<<20)), new(wrapperspb.BytesValue))
		wantCode(t, err, codes.ResourceExhausted, TooLarge)

		c.core.gate.Enter(t.Context())
		err = ask(t.Context(), c)
		c.core.gate.Leave()
		wantCode(t, err, codes.ResourceExhausted, QueueFull)
		if !errors.Is(err, offtake.ErrBusy) {
			t.Errorf("errors.Is(%v, offtake.ErrBusy) = false, want true", err)
		}
		group.Wait()
	})
}

func TestABusyServerSaysWhenToComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, &upstream{call: slow(500 * time.Millisecond)}, onePlace)
		c := g.client(t, capacity.Plan{InFlight: 2}, nil)
		warm(t, c)
		var group sync.WaitGroup
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()
		began := time.Now()
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("call = %v, want nil, on the server's word", err)
		}
		if got := time.Since(began); got < time.Second {
			t.Errorf("call took %v, want the second that the server asked for", got)
		}
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 600*time.Millisecond)
		defer cancel()
		began = time.Now()
		wantCode(t, ask(ctx, c), codes.ResourceExhausted, ServerBusy)
		if got := time.Since(began); got != 0 {
			t.Errorf("a call with less time than that took %v, want the answer at once", got)
		}
		group.Wait()
	})
}

// TestAServerThatIsBusyIsStillHealthy keeps a server full for a minute, with its
// health watched over the same door.
func TestAServerThatIsBusyIsStillHealthy(t *testing.T) {
	for name, config := range map[string]string{
		"our policy":  `{"healthCheckConfig":{"serviceName":""}}`,
		"round_robin": `{"healthCheckConfig":{"serviceName":""},"loadBalancingConfig":[{"round_robin":{}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGuarded(t, &upstream{call: slow(time.Second)}, onePlace)
				c := g.client(t, capacity.Plan{InFlight: 4, Streams: 9, Attempts: capacity.NoRetry, Deadline: 2 * time.Second}, &Options{ServiceConfig: config})
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := c.Warm(ctx); err == nil {
					t.Error("Warm() before the gate opens = nil, want an error")
				}
				g.open(t)
				synctest.Wait()
				warm(t, c)
				if got := c.Stats().Room; c.core.balancing.own && got != 9 {
					t.Errorf("room on a connection of 10 streams = %d, want 9, and one to watch health", got)
				}
				var group sync.WaitGroup
				for range 60 {
					group.Go(func() { ask(context.Background(), c) })
					synctest.Wait()
					err := ask(t.Context(), c)
					wantCode(t, err, codes.ResourceExhausted, ServerBusy)
					if state := c.core.channels[0].GetState(); state != connectivity.Ready {
						t.Fatalf("state under load = %v, want READY", state)
					}
					group.Wait()
				}
				g.gate.Drain()
				synctest.Wait()
				<-time.After(reconnectSpread)
				if err := ask(t.Context(), c); status.Code(err) != codes.Unavailable {
					t.Errorf("call to a server that drains = %v, want UNAVAILABLE", err)
				}
			})
		})
	}
}

func TestADrainEndsAnEndlessStreamAndLosesNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded(t, &upstream{call: slow(500 * time.Millisecond), stream: ticking(-1, 100*time.Millisecond)}, capacity.Plan{InFlight: 4})
		g.open(t)
		c := g.client(t, capacity.Plan{InFlight: 4}, nil)
		warm(t, c)
		s := watchStream(t.Context(), t, c)
		var group sync.WaitGroup
		group.Go(func() {
			if err := ask(context.Background(), c); err != nil {
				t.Errorf("call during the drain = %v, want nil", err)
			}
		})
		group.Go(func() {
			if _, err := drain(s); status.Code(err) != codes.Unavailable {
				t.Errorf("endless stream = %v, want UNAVAILABLE", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		g.gate.Drain()
		g.health.Shutdown(ctx, g.server)
		if got := time.Since(began); got > 1200*time.Millisecond {
			t.Errorf("shutdown took %v, want at most 1.2s", got)
		}
		group.Wait()
		wantIdle(t, c)
	})
}

// TestAHandlerThatDoesNotStopIsSeen: grpc-go stops reading from a connection whose
// handlers go on after their calls are over, which no figure of a client shows.
func TestAHandlerThatDoesNotStopIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := func(_ context.Context, body []byte) ([]byte, error) {
			<-time.After(time.Second)
			return body, nil
		}
		g := newGuarded(t, &upstream{call: deaf}, capacity.Plan{InFlight: 4})
		c := g.client(t, capacity.Plan{InFlight: 4}, nil)
		warm(t, c)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		wantCode(t, ask(ctx, c), codes.DeadlineExceeded, InServer)
		<-time.After(500 * time.Millisecond)
		if got := g.guard.Stats(); got.Overrunning != 1 || got.Overran != 0 {
			t.Errorf("Stats() half a second later = %+v, want 1 overrunning", got)
		}
		<-time.After(time.Second)
		if got := g.guard.Stats(); got.Overrunning != 0 || got.Overran != 1 {
			t.Errorf("Stats() once it has stopped = %+v, want 1 that overran", got)
		}
	})
}
