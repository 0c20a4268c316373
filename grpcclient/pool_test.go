package grpcclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// fleet is some servers behind one name, in a bubble.
type fleet struct {
	name    *manual.Resolver
	mu      sync.Mutex
	servers map[string]*pipenet.Listener
	served  map[string]*atomic.Int64 // calls
	dials   map[string]*atomic.Int64
	delay   map[string]time.Duration // of a dial
}

// fleetName is the name that the fleet's resolver knows.
const fleetName = "fleet:///upstream"

func newFleet(t *testing.T, n int, call unaryHandler, options ...grpc.ServerOption) *fleet {
	t.Helper()
	f := &fleet{
		name:    manual.NewBuilderWithScheme("fleet"),
		servers: map[string]*pipenet.Listener{},
		served:  map[string]*atomic.Int64{},
		dials:   map[string]*atomic.Int64{},
		delay:   map[string]time.Duration{},
	}
	for range n {
		f.add(t, call, options...)
	}
	f.name.InitialState(f.state())
	return f
}

func (f *fleet) add(t *testing.T, call unaryHandler, options ...grpc.ServerOption) string {
	t.Helper()
	l, served := pipenet.Listen(), new(atomic.Int64)
	f.mu.Lock()
	address := fmt.Sprintf("server-%d", len(f.servers))
	f.servers[address], f.served[address], f.dials[address] = l, served, new(atomic.Int64)
	f.mu.Unlock()
	serve(t, l, &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
		served.Add(1)
		if call == nil {
			return body, nil
		}
		return call(ctx, body)
	}}, options...)
	return address
}

func (f *fleet) state() resolver.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	var s resolver.State
	for i := range len(f.servers) {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: fmt.Sprintf("server-%d", i)}}})
	}
	return s
}

func (f *fleet) dial(ctx context.Context, address string) (net.Conn, error) {
	f.mu.Lock()
	f.dials[address].Add(1)
	delay, l := f.delay[address], f.servers[address]
	f.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return l.Dial(ctx, "", address)
}

func (f *fleet) options() *Options {
	return &Options{Resolvers: []resolver.Builder{f.name}, Dial: f.dial}
}

func (f *fleet) dialed() (n int64) {
	for _, d := range f.dials {
		n += d.Load()
	}
	return n
}

// perServer is a plan with n connections to each of servers.
func perServer(servers, n int) capacity.Plan {
	return capacity.Plan{InFlight: servers * n, Streams: 1, Wait: time.Second}
}

func TestWarmWaitsForAllConnectionsAndNotForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 4, nil)
		for i := range 4 {
			f.delay[fmt.Sprintf("server-%d", i)] = time.Duration(i) * 200 * time.Millisecond
		}
		c := dial(t, fleetName, perServer(4, 2), f.options())
		began := time.Now()
		time.AfterFunc(10*time.Millisecond, func() {
			if got := c.core.channels[0].GetState(); got != connectivity.Ready || c.Stats().Open != 2 {
				t.Errorf("state after 10ms = %v with %d connections, want READY with 2: that is why Warm does not ask it", got, c.Stats().Open)
			}
		})
		warm(t, c)
		if got := time.Since(began); got != 600*time.Millisecond {
			t.Errorf("Warm took %v, want 600ms", got)
		}
		if got := c.Stats().Open; got != 8 {
			t.Errorf("connections after Warm = %d, want 8", got)
		}
	})
}

func TestWarmNamesWhatIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 4, nil)
		f.servers["server-2"].Close()
		plan := perServer(4, 1)
		c := dial(t, fleetName, plan, f.options())
		err := c.Warm(t.Context())
		w, ok := errors.AsType[*WarmError](err)
		if !ok || w.Want != 4 || w.Got != 3 {
			t.Fatalf("Warm() = %v, want a WarmError with 3 of 4", err)
		}
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			t.Errorf("Warm() = %v, want the dial's own error in it", err)
		}
		plan.Warm = 3
		if err := c.Resize(plan); err != nil {
			t.Fatal(err)
		}
		if err := c.Warm(t.Context()); err != nil {
			t.Errorf("Warm() with Plan.Warm 3 = %v, want nil", err)
		}
	})
}

func TestWarmSaysThatNothingIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0, nil)
		c := dial(t, fleetName, perServer(1, 1), f.options())
		if err := c.Warm(t.Context()); !errors.Is(err, errNoAddresses) {
			t.Errorf("Warm() without addresses = %v, want %v", err, errNoAddresses)
		}
	})
}

func TestWarmEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		f.delay["server-0"] = time.Second
		c := dial(t, fleetName, perServer(1, 1), f.options())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := c.Warm(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Warm() = %v, want %v", err, context.DeadlineExceeded)
		}
		if err := c.Warm(t.Context()); err != nil {
			t.Errorf("a second Warm() = %v, want nil", err)
		}
	})
}

func TestWarmCallsGoOutOnEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, nil)
		o := f.options()
		o.Warm = func(ctx context.Context, conn grpc.ClientConnInterface) error { return ask(ctx, conn) }
		c := dial(t, fleetName, perServer(3, 1), o)
		warm(t, c)
		for address, n := range f.served {
			if got := n.Load(); got != warmRounds {
				t.Errorf("warm calls to %s = %d, want %d", address, got, warmRounds)
			}
		}
		wantIdle(t, c)
	})
}

func TestAFailedWarmCallIsAnError(t *testing.T) {
	wrong := errors.New("no such table")
	o := &Options{Warm: func(context.Context, grpc.ClientConnInterface) error { return wrong }}
	bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{}, func(t *testing.T, c *Conn) {
		if err := c.Warm(t.Context()); !errors.Is(err, wrong) {
			t.Errorf("Warm() = %v, want %v", err, wrong)
		}
	})
}

func TestWarmRefusesAPlanThatTheServerDoesNotAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, capacity.Plan{InFlight: 200, Streams: 50}, nil, &upstream{}, grpc.MaxConcurrentStreams(10))
		err := c.Warm(t.Context())
		if w, ok := errors.AsType[*WarmError](err); !ok || w.Got != 4 {
			t.Fatalf("Warm() = %v, want a WarmError with 4 connections", err)
		}
		if got, want := err.Error(), "200 places do not fit on 4 connections: the upstream allows 40 streams on them; 20 connections would do"; !contains(got, want) {
			t.Errorf("Warm() = %q, want %q in it", got, want)
		}
		if got := c.Stats().Places; got != 40 {
			t.Errorf("places = %d, want 40", got)
		}
	})
}

func TestAnIdleConnectionStaysAndOneThatWasSentAwayComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		o := f.options()
		o.MaxAge = 24 * time.Hour
		c := dial(t, fleetName, perServer(1, 1), o)
		warm(t, c)
		<-time.After(2 * time.Hour) // grpc-go closes everything after 30 min
		if got, dials := c.Stats().Open, f.dialed(); got != 1 || dials != 1 {
			t.Errorf("after two idle hours: %d connections, %d dials, want 1, 1", got, dials)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: time.Minute}))
		c := dial(t, fleetName, perServer(1, 1), f.options())
		warm(t, c)
		<-time.After(10 * time.Minute)
		if dials := f.dialed(); dials < 8 {
			t.Errorf("dials in ten minutes of a server that sends connections away after one = %d, want about 10, with no call", dials)
		}
		if got := c.Stats().Open; got != 1 {
			t.Errorf("connections = %d, want 1", got)
		}
	})
}

func TestOneAddressHasAsManyConnectionsAsThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		c := dial(t, fleetName, perServer(1, 4), f.options())
		warm(t, c)
		if got := f.dialed(); got != 4 {
			t.Errorf("connections = %d, want 4", got)
		}
		if err := c.Resize(perServer(1, 6)); err != nil {
			t.Fatal(err)
		}
		warm(t, c)
		if got, open := f.dialed(), c.Stats().Open; got != 6 || open != 6 {
			t.Errorf("after Resize to 6: %d dials, %d open, want 6, 6", got, open)
		}
		if err := c.Resize(perServer(1, 2)); err != nil {
			t.Fatal(err)
		}
		if got := c.Stats().Open; got != 2 {
			t.Errorf("after Resize to 2: %d open, want 2", got)
		}
	})
}

// TestAttributesDoNotMakeMoreConnections keeps an eye on grpc-go: should it begin to
// tell addresses apart by them, the policy here could become smaller.
func TestAttributesDoNotMakeMoreConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		var s resolver.State
		for i := range 4 {
			s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{
				Addr: "server-0", ServerName: fmt.Sprint("name-", i), Attributes: attributes.New("n", i),
			}}})
		}
		f.name.InitialState(s)
		cc, err := grpc.NewClient(fleetName, grpc.WithResolvers(f.name), grpc.WithContextDialer(f.dial),
			grpc.WithTransportCredentials(plaintext()), grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		for range 8 {
			if err := ask(t.Context(), cc); err != nil {
				t.Fatal(err)
			}
		}
		if got := f.dialed(); got != 1 {
			t.Errorf("connections of round_robin to four variants of one address = %d, want 1", got)
		}
	})
}

func TestCallsInFlightSurviveAddressesThatComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, slow(time.Second))
		c := dial(t, fleetName, perServer(2, 1), f.options())
		warm(t, c)
		done := make(chan error)
		for range 2 {
			go func() { done <- ask(context.Background(), c) }()
		}
		synctest.Wait()
		f.add(t, nil)
		s := f.state()
		s.Endpoints = s.Endpoints[1:] // 0 goes, 2 comes
		f.name.UpdateState(s)
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("call in flight = %v, want nil", err)
			}
		}
		warm(t, c)
		before := f.served["server-0"].Load()
		for range 10 {
			if err := ask(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
		if got := f.served["server-0"].Load(); got != before {
			t.Errorf("calls to the address that has gone = %d, want %d", got, before)
		}
		if got := f.served["server-2"].Load(); got == 0 {
			t.Error("calls to the address that has come = 0, want some")
		}
	})
}

func TestNewServersGetTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 4, nil)
		o := f.options()
		f.name.ResolveNowCallback = func(resolver.ResolveNowOptions) { go f.name.UpdateState(f.state()) }
		c := dial(t, fleetName, perServer(4, 1), o)
		warm(t, c)
		for range 400 {
			if err := ask(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
		for address, n := range f.served {
			if got := n.Load(); got < 60 || got > 140 {
				t.Errorf("calls to %s = %d of 400, want 60 to 140", address, got)
			}
		}
		fresh := []string{f.add(t, nil), f.add(t, nil)}
		<-time.After(defaultMaxAge)
		for range 600 {
			if err := ask(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
		for _, address := range fresh {
			if got := f.served[address].Load(); got < 40 {
				t.Errorf("calls to the new %s = %d of 600, want at least 40", address, got)
			}
		}
	})
}

func TestConnectionsAreReplacedWithinTheirAgeAndNoCallIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, slow(10*time.Millisecond))
		c := dial(t, fleetName, perServer(1, 4), f.options())
		warm(t, c)
		end := time.Now().Add(3 * defaultMaxAge)
		for time.Now().Before(end) {
			if err := ask(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if got := c.Stats().Open; got != 4 {
				t.Fatalf("connections = %d, want 4 all the time", got)
			}
			<-time.After(time.Second)
		}
		if got := f.dialed(); got < 12 || got > 18 {
			t.Errorf("dials in three times the age of 4 connections = %d, want about 16", got)
		}
	})
}
