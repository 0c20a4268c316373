package grpcclient

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
	"github.com/offtake-go/offtake/internal/telemetry"
)

func TestTheServerSeesTheShortestDeadline(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Deadline: 2 * time.Second, Attempt: time.Second}
	methods := map[string]Method{"/offtake.test.Upstream/*": {Attempt: 300 * time.Millisecond}}
	for _, tt := range []struct {
		name    string
		caller  time.Duration
		methods map[string]Method
		want    time.Duration
	}{
		{"no deadline of the caller", 0, nil, time.Second},
		{"a shorter one", 200 * time.Millisecond, nil, 200 * time.Millisecond},
		{"a longer one", time.Hour, nil, time.Second},
		{"one of the method", 0, methods, 300 * time.Millisecond},
		{"one of the method for all its attempts", 0, map[string]Method{methodCall: {Deadline: time.Second, Retry: []codes.Code{codes.Unavailable}}}, 450 * time.Millisecond},
		{"one of the method for its only attempt", 0, map[string]Method{methodCall: {Deadline: time.Second}}, 900 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var left time.Duration
			u := &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
				d, _ := ctx.Deadline()
				left = time.Until(d)
				return body, nil
			}}
			bubble(t, plan, &Options{Methods: tt.methods}, u, func(t *testing.T, c *Conn) {
				warm(t, c)
				ctx, cancel := t.Context(), func() {}
				if tt.caller > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.caller)
				}
				defer cancel()
				if err := ask(ctx, c); err != nil {
					t.Fatal(err)
				}
				if left != tt.want {
					t.Errorf("time left at the server = %v, want %v", left, tt.want)
				}
			})
		})
	}
}

func TestTheWaitForAPlaceIsTakenFromTheDeadline(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Wait: 100 * time.Millisecond, Deadline: 300 * time.Millisecond, Attempt: 280 * time.Millisecond, Attempts: capacity.NoRetry}
	bubble(t, plan, nil, &upstream{call: slow(time.Minute)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		c.core.gate.Enter(t.Context())
		time.AfterFunc(90*time.Millisecond, c.core.gate.Leave)
		began := time.Now()
		err := ask(t.Context(), c)
		wantCode(t, err, codes.DeadlineExceeded, InServer)
		if e, ok := errors.AsType[*TimeoutError](err); !ok || e.Phase != PhaseDeadline || time.Since(began) != 300*time.Millisecond {
			t.Errorf("call = %v after %v, want the deadline of 300ms", err, time.Since(began))
		}
	})
}

// stuck is a connection that never says anything.
func stuck(ctx context.Context, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// stuckCredentials wait for a token service that does not answer.
type stuckCredentials struct{}

func (stuckCredentials) GetRequestMetadata(ctx context.Context, _ ...string) (map[string]string, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (stuckCredentials) RequireTransportSecurity() bool { return false }

// cuttingCredentials end the connection that their call was to go out on, once for
// each of cuts.
type cuttingCredentials struct {
	stuckCredentials
	conn net.Conn
	cuts int
}

func (k *cuttingCredentials) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if k.cuts > 0 {
		k.cuts--
		k.conn.Close()
		<-time.After(time.Millisecond) // grpc-go notices meanwhile
	}
	return nil, nil
}

func TestACallThatHasLostItsConnectionWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		serve(t, l, &upstream{})
		var k cuttingCredentials
		type network = func(context.Context, string) (net.Conn, error)
		up := func(ctx context.Context, address string) (conn net.Conn, err error) {
			k.conn, err = l.Dial(ctx, "", address)
			return k.conn, err
		}
		down := func(context.Context, string) (net.Conn, error) { return nil, errors.New("no route to host") }
		var now atomic.Pointer[network]
		r := prometheus.NewRegistry()
		plan := capacity.Plan{InFlight: 1, Deadline: 3 * time.Second, Attempts: capacity.NoRetry}
		c := dial(t, "passthrough:///upstream", plan, &Options{
			Registerer:  r,
			DialOptions: []grpc.DialOption{grpc.WithPerRPCCredentials(&k)},
			Dial:        func(ctx context.Context, address string) (net.Conn, error) { return (*now.Load())(ctx, address) },
		})
		cut := func(ctx context.Context, then network) error {
			now.Store(&up)
			<-time.After(2 * dialPauseMost)
			warm(t, c)
			now.Store(&then)
			k.cuts = 1
			return ask(ctx, c)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*dialPauseMost+2*time.Millisecond)
		defer cancel()
		wantCode(t, cut(ctx, stuck), codes.DeadlineExceeded, InConnect)
		err := cut(t.Context(), down)
		wantCode(t, err, codes.Unavailable, NoConnection)
		if !contains(err.Error(), "no route to host") {
			t.Errorf("call = %v, want the cause in it", err)
		}
		_, before := series(t, r, "offtake_client_connect_wait_seconds", nil)
		began := time.Now().Add(2 * dialPauseMost)
		if err := cut(t.Context(), up); err != nil {
			t.Errorf("call that finds another connection = %v, want nil", err)
		}
		_, after := series(t, r, "offtake_client_connect_wait_seconds", nil)
		if got, want := after-before, time.Since(began).Seconds(); math.Abs(got-want) > 1e-5 { // sums are rounded
			t.Errorf("wait for a connection of it = %vs, want %vs: all of it", got, want)
		}
	})
}

func TestEveryStageThatTimeRunsOutInHasAReasonOfItsOwn(t *testing.T) {
	nowhere := manual.NewBuilderWithScheme("nowhere") // never has an address
	plan := capacity.Plan{InFlight: 4, Streams: 4, Deadline: 100 * time.Millisecond, Attempt: 100 * time.Millisecond, Attempts: capacity.NoRetry}
	for _, tt := range []struct {
		stage   Stage
		reason  Reason
		outcome telemetry.Outcome // by the plan's deadline; by the caller's it is a timeout
		open    func(t *testing.T) *Conn
	}{
		{StageResolve, InResolve, telemetry.DNS, func(t *testing.T) *Conn {
			return dial(t, "nowhere:///upstream", plan, &Options{Resolvers: []resolver.Builder{nowhere}})
		}},
		{StageConnect, InConnect, telemetry.Connect, func(t *testing.T) *Conn {
			return dial(t, "passthrough:///upstream", plan, &Options{Dial: stuck})
		}},
		{StageQuota, InQuota, telemetry.Timeout, func(t *testing.T) *Conn {
			c := piped(t, plan, nil, &upstream{stream: func(s grpc.ServerStream) error { <-s.Context().Done(); return nil }}, grpc.MaxConcurrentStreams(1))
			c.Observe(true) // more calls than streams
			c.Warm(t.Context())
			if _, err := c.NewStream(t.Context(), watchDesc, methodWatch); err != nil {
				t.Fatal(err)
			}
			return c
		}},
		{StageCredentials, InCredentials, telemetry.Timeout, func(t *testing.T) *Conn {
			c := piped(t, plan, &Options{DialOptions: []grpc.DialOption{grpc.WithPerRPCCredentials(stuckCredentials{})}}, &upstream{})
			warm(t, c)
			return c
		}},
		{StageServer, InServer, telemetry.Timeout, func(t *testing.T) *Conn {
			c := piped(t, plan, nil, &upstream{call: slow(time.Minute)})
			warm(t, c)
			return c
		}},
	} {
		t.Run(string(tt.stage), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := tt.open(t)
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				err := ask(ctx, c)
				wantCode(t, err, codes.DeadlineExceeded, tt.reason)
				if e, ok := errors.AsType[*ContextError](err); !ok || e.Stage != tt.stage {
					t.Errorf("call with the caller's deadline = %v, want a ContextError at %q", err, tt.stage)
				}
				if got := outcomeOf(err); got != telemetry.Timeout {
					t.Errorf("outcome of %v = %v, want %v", err, got, telemetry.Timeout)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				c := tt.open(t)
				err := ask(t.Context(), c)
				wantCode(t, err, codes.DeadlineExceeded, tt.reason)
				if e, ok := errors.AsType[*TimeoutError](err); !ok || e.Stage != tt.stage || e.Phase != PhaseDeadline && e.Phase != PhaseAttempt {
					t.Errorf("call with the plan's deadline = %v, want a TimeoutError at %q", err, tt.stage)
				}
				if got := outcomeOf(err); got != tt.outcome {
					t.Errorf("outcome of %v = %v, want %v", err, got, tt.outcome)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("errors.Is(%v, context.DeadlineExceeded) = false, want true", err)
				}
			})
		})
	}
}

func TestAnOutageIsNoLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 2, Queue: 1}, &Options{Dial: stuck, Registerer: r})
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { ask(context.Background(), c) })
		}
		synctest.Wait()
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()
		err := ask(t.Context(), c) // places and queue are full
		wantCode(t, err, codes.Unavailable, NoConnection)
		if errors.Is(err, offtake.ErrBusy) {
			t.Errorf("errors.Is(%v, offtake.ErrBusy) = true, want false", err)
		}
		wantCalls(t, r, "busy", 0)
		wantCalls(t, r, "connect", 1)
		group.Wait()
	})
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, &Options{
			Dial: func(context.Context, string) (net.Conn, error) {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			},
		})
		err := ask(t.Context(), c)
		wantCode(t, err, codes.Unavailable, NoConnection)
		if _, ok := errors.AsType[*net.OpError](err); !ok {
			t.Errorf("call = %v, want the dial's own error in it", err)
		}
	})
}

func TestWhoEndedACallIsNotGuessed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		call    unaryHandler
		end     func(context.Context) (context.Context, context.CancelFunc)
		code    codes.Code
		outcome string
	}{
		{"the caller cancels", slow(time.Minute), func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(10*time.Millisecond, cancel)
			return ctx, cancel
		}, codes.Canceled, "canceled"},
		{"the caller is out of time", slow(time.Minute), func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 10*time.Millisecond)
		}, codes.DeadlineExceeded, "timeout"},
		{"the server says it was out of time", failing(codes.DeadlineExceeded), context.WithCancel, codes.DeadlineExceeded, "DEADLINE_EXCEEDED"},
		{"the server says it was canceled", failing(codes.Canceled), context.WithCancel, codes.Canceled, "CANCELLED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := prometheus.NewRegistry()
			bubble(t, capacity.Plan{InFlight: 1}, &Options{Registerer: r}, &upstream{call: tt.call}, func(t *testing.T, c *Conn) {
				ctx, cancel := tt.end(t.Context())
				defer cancel()
				if err := ask(ctx, c); status.Code(err) != tt.code {
					t.Errorf("call = %v, want %v", err, tt.code)
				}
				wantCalls(t, r, tt.outcome, 1)
			})
		})
	}
}

func TestAServiceConfigFromTheResolverChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, slow(200*time.Millisecond))
		c := dial(t, fleetName, perServer(1, 1), f.options())
		s := f.state()
		warm(t, c) // builds the resolver, which can read configs from then on
		s.ServiceConfig = f.name.CC().ParseServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}],"methodConfig":[{"name":[{}],"timeout":"0.05s"}]}`)
		if s.ServiceConfig.Err != nil {
			t.Fatal(s.ServiceConfig.Err)
		}
		f.name.UpdateState(s)
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("call = %v, want nil: no timeout from a service config", err)
		}
		if got := c.Stats().Open; got != 1 {
			t.Errorf("connections = %d, want 1 of our own policy", got)
		}
	})
}

func TestPlacesComeBackHoweverACallEnds(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Queue: capacity.NoQueue, Deadline: time.Second, Attempts: capacity.NoRetry}
	for name, call := range map[string]unaryHandler{
		"never":    slow(time.Hour),
		"an error": failing(codes.NotFound),
		"a panic":  func(context.Context, []byte) ([]byte, error) { return nil, io.ErrUnexpectedEOF },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, plan, nil, &upstream{call: call}, func(t *testing.T, c *Conn) {
				warm(t, c)
				for range 5 {
					if err := ask(t.Context(), c); err == nil || errors.Is(err, offtake.ErrBusy) {
						t.Errorf("call = %v, want an error of the upstream's", err)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Millisecond, cancel)
				ask(ctx, c)
				wantIdle(t, c)
			})
		})
	}
}

// TestCloseIsWhatEndsACallAndNotTheUpstream: to grpc-go such a call is canceled, or
// its transport has failed.
func TestCloseIsWhatEndsACallAndNotTheUpstream(t *testing.T) {
	o := &Options{Methods: idempotent(codes.Unavailable)}
	bubble(t, capacity.Plan{InFlight: 40}, o, &upstream{call: slow(time.Minute), stream: silent}, func(t *testing.T, c *Conn) {
		warm(t, c)
		watchStream(t.Context(), t, c) // that nobody reads
		read := watchStream(t.Context(), t, c)
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() { wantCode(t, ask(context.Background(), c), codes.Canceled, InServer) })
		}
		group.Go(func() {
			_, err := drain(read)
			wantCode(t, err, codes.Canceled, InServer)
			if errors.Is(err, offtake.ErrClosed) {
				t.Errorf("errors.Is(%v, offtake.ErrClosed) = true, want false: it was sent", err)
			}
		})
		synctest.Wait()
		c.Close()
		group.Wait()
		synctest.Wait()
		wantIdle(t, c)
		failed := status.Error(codes.Unavailable, "transport is closing") // what grpc-go says if it is sooner
		wantCode(t, (&attempt{core: c.core}).explain(t.Context(), failed), codes.Canceled, InConnect)
	})
}

// due is a context at its deadline, before its timer has run.
type due struct{ context.Context }

func (due) Deadline() (time.Time, bool) { return time.Now(), true }

func TestAServerThatIsFasterThanATimerIsNotBlamed(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1}, nil, &upstream{}, func(t *testing.T, c *Conn) {
		late := status.Error(codes.DeadlineExceeded, "the server's word")
		a := &attempt{core: c.core, Context: due{t.Context()}, due: &bound{PhaseAttempt, time.Second}}
		a.mark(markSent)
		if err, ok := errors.AsType[*TimeoutError](a.explain(t.Context(), late)); !ok || err.Phase != PhaseAttempt {
			t.Errorf("end at the attempt's deadline = %v, want a TimeoutError of the attempt", err)
		}
		if err, ok := errors.AsType[*ContextError](a.explain(due{t.Context()}, late)); !ok || !err.Timeout() {
			t.Errorf("end at the caller's deadline = %v, want a ContextError", err)
		}
		a.Context = t.Context()
		if err := a.explain(t.Context(), late); err != late {
			t.Errorf("end before any deadline = %v, want what the server said", err)
		}
	})
}
