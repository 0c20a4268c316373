package grpcclient

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
)

func TestAnIdleConnectionStaysAndOneThatWasSentAwayComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		o := f.options()
		o.MaxAge = 24 * time.Hour
		c := dial(t, fleetName, perServer(1, 1), o)
		warm(t, c)
		<-time.After(2 * time.Hour) // grpc-go closes everything after 30 min
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("call after two idle hours = %v, want nil", err)
		}
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
		warm(t, c) // it may be away at this very moment
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

// TestACallWaitsForAConnectionThatComesAndNotForAStream has two calls that had their
// places before there was any connection, and a second server that is slow to dial.
func TestACallWaitsForAConnectionThatComesAndNotForAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, slow(time.Second), grpc.MaxConcurrentStreams(1))
		f.delay["server-1"] = 300 * time.Millisecond
		c := dial(t, fleetName, perServer(2, 1), f.options())
		began := time.Now()
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				if err := ask(context.Background(), c); err != nil {
					t.Errorf("call = %v, want nil", err)
				}
			})
		}
		group.Wait()
		if took, over := time.Since(began), c.Stats().OverLimit; took != 1300*time.Millisecond || over != 0 {
			t.Errorf("two calls took %v, %d of them above the limit, want 1.3s, 0", took, over)
		}
	})
}

// counted is a connection that is counted while it is open.
type counted struct {
	net.Conn
	close func()
}

func (c *counted) Close() error {
	c.close()
	return c.Conn.Close()
}

// counting are options for a fleet with which the connections that are open are
// counted.
func counting(f *fleet) (*Options, *atomic.Int64) {
	open, o := new(atomic.Int64), f.options()
	o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
		c, err := f.dial(ctx, address)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &counted{c, sync.OnceFunc(func() { open.Add(-1) })}, nil
	}
	return o, open
}

func TestConnectionsThatAreNotWantedAnyMoreAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil)
		o, open := counting(f)
		c := dial(t, fleetName, perServer(2, 2), o)
		warm(t, c)
		wantOpen := func(want int64, when string) {
			t.Helper()
			synctest.Wait()
			if got := open.Load(); got != want {
				t.Errorf("connections %s = %d, want %d", when, got, want)
			}
		}
		wantOpen(4, "of a warm client")
		<-time.After(3 * defaultMaxAge)
		wantOpen(4, "after each was replaced")
		s := f.state()
		s.Endpoints = s.Endpoints[:1]
		f.name.UpdateState(s)
		wantOpen(4, "to one address of two, all of them there")
		if err := c.Resize(perServer(1, 1)); err != nil {
			t.Fatal(err)
		}
		wantOpen(1, "with a smaller plan")
		c.Close()
		wantOpen(0, "of a closed client")
	})
}

func TestCallsGoToTheLessBusyOfTwoServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, func(ctx context.Context, body []byte) ([]byte, error) {
			if string(body) == "stay" {
				<-ctx.Done()
			}
			return body, nil
		})
		c := dial(t, fleetName, capacity.Plan{InFlight: 20, Connections: 2}, f.options())
		warm(t, c)
		busy := c.core.readyLinks()[0]
		for range 5 {
			go (&pinnedConn{c.core, busy}).Invoke(t.Context(), methodCall, wrapperspb.Bytes([]byte("stay")), new(wrapperspb.BytesValue))
		}
		synctest.Wait()
		for range 10 {
			if err := ask(t.Context(), c); err != nil {
				t.Errorf("call = %v, want nil", err)
			}
		}
		if got := f.served[busy.address].Load(); got != 5 {
			t.Errorf("calls of the busy server = %d, want the 5 that it is busy with", got)
		}
	})
}

func TestAnAddressThatIsNamedTwiceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil)
		s := f.state()
		s.Endpoints = append(s.Endpoints, s.Endpoints[0], resolver.Endpoint{})
		f.name.InitialState(s)
		c := dial(t, fleetName, perServer(1, 4), f.options())
		warm(t, c)
		if got := f.dialed(); got != 4 {
			t.Errorf("connections to two addresses of which one is named twice = %d, want the plan's 4", got)
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

func TestANameWithoutAddressesLeavesThoseThatAreKnown(t *testing.T) {
	for name, endpoints := range map[string][]resolver.Endpoint{"no endpoints": nil, "an empty endpoint": {{}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, nil)
				c := dial(t, fleetName, perServer(1, 2), f.options())
				warm(t, c)
				f.name.UpdateState(resolver.State{Endpoints: endpoints})
				synctest.Wait()
				if got := c.Stats().Open; got != 2 {
					t.Errorf("connections = %d, want 2", got)
				}
				wantNil(t)(ask(t.Context(), c))
			})
		})
	}
}

func TestAnHeirThatBreaksAtOnceLeavesTheOldLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		c := dial(t, fleetName, perServer(1, 1), f.options())
		warm(t, c)
		old := c.core.readyLinks()[0]
		f.delay["server-0"] = time.Minute // its heir has no connection of its own
		old.filler.renew(old)
		synctest.Wait()
		heir := old.heir
		heir.UpdateState(balancer.State{ConnectivityState: connectivity.Ready})
		heir.UpdateState(balancer.State{ConnectivityState: connectivity.Idle})
		synctest.Wait()
		if got := c.core.readyLinks(); len(got) != 1 || got[0] != old {
			t.Errorf("links that are ready = %v, want the old one", got)
		}
		wantNil(t)(ask(t.Context(), c))
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
			if got := c.Stats(); got.Open != 4 || got.Oldest > defaultMaxAge {
				t.Fatalf("connections, age of the oldest = %d, %v, want 4 all the time, and %v at most", got.Open, got.Oldest, defaultMaxAge)
			}
			<-time.After(time.Second)
		}
		if got := f.dialed(); got < 12 || got > 18 {
			t.Errorf("dials in three times the age of 4 connections = %d, want about 16", got)
		}
	})
}

func TestALinkThatCanNotBeReplacedDoesNotHoldUpTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 4, nil)
		c := dial(t, fleetName, perServer(4, 1), f.options())
		warm(t, c)
		f.servers["server-0"].Close() // takes no new connections
		for range 600 {
			<-time.After(time.Second)
			for _, l := range c.core.readyLinks() {
				if age := time.Since(l.since); l.address != "server-0" && age > defaultMaxAge*5/4 {
					t.Fatalf("age of a connection to %s = %v, want %v at most, and a turn more", l.address, age, defaultMaxAge)
				}
			}
		}
		if got := c.Stats().Open; got != 4 {
			t.Errorf("connections = %d, want 4, the old one too", got)
		}
	})
}

func TestALinkIsReplacedByOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		o, open := counting(f)
		c := dial(t, fleetName, perServer(1, 2), o)
		warm(t, c)
		f.delay["server-0"] = time.Second / 2
		last := c.core.readyLinks()[1]
		for range 3 {
			last.filler.renew(last)
		}
		synctest.Wait()
		if got := f.dialed(); got != 3 {
			t.Errorf("dials of two connections and an heir that was asked for three times = %d, want 3", got)
		}
		if err := c.Resize(perServer(1, 1)); err != nil { // the link leaves before its heir comes
			t.Fatal(err)
		}
		<-time.After(time.Second)
		if got := open.Load(); got != 1 {
			t.Errorf("connections = %d, want the plan's 1", got)
		}
	})
}

func TestWhoIsSentAwayComesBackAtOnceUnlessOthersAreThere(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ready int32 // other connections
		call  bool  // waits
		want  bool  // a pause
	}{
		{"nobody waits", 0, false, false},
		{"another connection is there", 1, true, true},
		{"a call waits", 0, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, capacity.Plan{InFlight: 1}, nil, &upstream{call: slow(time.Minute)}, func(t *testing.T, c *Conn) {
				warm(t, c)
				l := c.core.readyLinks()[0]
				if tt.call {
					go ask(context.Background(), c)
					synctest.Wait()
				}
				c.core.pool.ready.Store(tt.ready)
				if got := l.turn(true); got > 0 != tt.want {
					t.Errorf("pause before the next dial = %v, want one: %v", got, tt.want)
				}
			})
		})
	}
}
