package grpcclient

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// roundRobin is a policy of the user's.
const roundRobin = `{"loadBalancingConfig":[{"round_robin":{}}]}`

func TestAPolicyOfTheUsersHasTheSameGuarantees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, slow(100*time.Millisecond))
		o := f.options()
		o.ServiceConfig = roundRobin
		o.Methods = idempotent(codes.Unavailable)
		c := dial(t, fleetName, capacity.Plan{InFlight: 4, Streams: 2, Wait: time.Second}, o)
		warm(t, c)
		if got := c.Stats().Open; got != 2 {
			t.Errorf("channels after Warm = %d, want 2", got)
		}
		for i, got := range crowd(t, c, 8) {
			if want := time.Duration(i/4+1) * 100 * time.Millisecond; got != want {
				t.Errorf("call %d took %v, want %v", i, got, want)
			}
		}
		if a, b := f.served["server-0"].Load(), f.served["server-1"].Load(); a == 0 || b == 0 {
			t.Errorf("calls of the two servers = %d, %d, want some for each", a, b)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		wantCode(t, ask(ctx, c), codes.DeadlineExceeded, InServer)
		if _, err := drain(watchStream(t.Context(), t, c)); err != io.EOF {
			t.Errorf("stream = %v, want EOF", err)
		}
		wantIdle(t, c)
		for i, ch := range c.core.channels {
			if got := ch.calls.Load(); got != 0 {
				t.Errorf("calls counted on channel %d after all have ended = %d, want 0", i, got)
			}
		}
		if err := c.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown() = %v, want nil", err)
		}
	})
}

func TestAPolicyOfTheUsersObeysPushback(t *testing.T) {
	for word, calls := range map[string]int{"300": 2, "-1": 1} {
		s := &script{answers: []error{pushback(word)}}
		bubble(t, capacity.Plan{InFlight: 1}, &Options{ServiceConfig: roundRobin}, &upstream{call: s.call}, func(t *testing.T, c *Conn) {
			ask(t.Context(), c)
			if s.calls != calls {
				t.Errorf("attempts with the pushback %q = %d, want %d", word, s.calls, calls)
			}
		})
	}
}

// TestWhatWasSentWithAPolicyOfTheUsersIsNotCalledUnsent has calls that begin without
// a connection, get one, and then wait for the server in vain.
func TestWhatWasSentWithAPolicyOfTheUsersIsNotCalledUnsent(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Deadline: time.Second, Attempts: capacity.NoRetry}
	for _, tt := range []struct {
		name   string
		dial   func(context.Context, string) (net.Conn, error)
		call   func(t *testing.T, c *Conn) error
		reason Reason
	}{
		{"unary", nil, func(t *testing.T, c *Conn) error { return ask(t.Context(), c) }, InServer},
		{"stream", nil, func(t *testing.T, c *Conn) error {
			_, err := drain(watchStream(t.Context(), t, c))
			return err
		}, InServer},
		{"never connected", stuck, func(t *testing.T, c *Conn) error { return ask(t.Context(), c) }, InConnect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &Options{ServiceConfig: roundRobin, Dial: tt.dial}
			bubble(t, plan, o, &upstream{call: slow(time.Minute), stream: silent}, func(t *testing.T, c *Conn) {
				wantCode(t, tt.call(t, c), codes.DeadlineExceeded, tt.reason)
			})
		})
	}
}

// TestRetriesOfAServiceConfigThatCameAlongAreOff: names of xds bring a service config
// with them, which is not for us to turn off.
func TestRetriesOfAServiceConfigThatCameAlongAreOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		calls := 0
		serve(t, l, &upstream{call: func(context.Context, []byte) ([]byte, error) {
			calls++
			return nil, status.Error(codes.Unavailable, "no")
		}})
		xds := manual.NewBuilderWithScheme("xds")
		state := resolver.State{Addresses: []resolver.Address{{Addr: "server"}}}
		xds.BuildCallback = func(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) {
			state.ServiceConfig = cc.ParseServiceConfig(`{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":4,"initialBackoff":"0.01s","maxBackoff":"0.01s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`)
			if state.ServiceConfig.Err != nil {
				t.Fatal(state.ServiceConfig.Err)
			}
			xds.InitialState(state)
		}
		c := dial(t, "xds:///upstream", capacity.Plan{InFlight: 1}, &Options{Resolvers: []resolver.Builder{xds}, DialOptions: []grpc.DialOption{grpc.WithContextDialer(pipeDial(l))}})
		if err := ask(t.Context(), c); status.Code(err) != codes.Unavailable || calls != 1 {
			t.Errorf("call = %v after %d attempts, want UNAVAILABLE after 1", err, calls)
		}
	})
}

func TestWarmOfAPolicyOfTheUsersNamesTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		f.servers["server-0"].Close()
		o := f.options()
		o.ServiceConfig = roundRobin
		c := dial(t, fleetName, perServer(1, 2), o)
		if err := c.Warm(t.Context()); err == nil || !contains(err.Error(), "connection refused") {
			t.Errorf("Warm() = %v, want the dial's error", err)
		}
	})
}

func TestACallGoesToTheChannelWithTheFewest(t *testing.T) {
	r := prometheus.NewRegistry()
	o := &Options{ServiceConfig: roundRobin, Registerer: r}
	bubble(t, capacity.Plan{InFlight: 6, Streams: 2}, o, &upstream{call: slow(time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() { wantNil(t)(ask(context.Background(), c)) })
			synctest.Wait()
		}
		for i, ch := range c.core.channels {
			if got := ch.calls.Load(); got != 2 {
				t.Errorf("calls on channel %d of 3 = %d, want 2 of 6", i, got)
			}
		}
		group.Wait()
		if n, _ := series(t, r, "offtake_client_connect_wait_seconds", nil); n != 0 {
			t.Errorf("waits for a connection = %d, want none: they are not known", n)
		}
	})
}
