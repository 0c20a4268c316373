package grpcclient

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/resolver"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// zone is the name server of a bubble: one name, and what answers at its addresses.
type zone struct {
	addresses atomic.Pointer[[]string]
	lookups   atomic.Int64
	servers   map[string]*pipenet.Listener
}

func (z *zone) set(addresses ...string) { z.addresses.Store(&addresses) }

func (z *zone) lookup(context.Context, string) ([]string, error) {
	z.lookups.Add(1)
	if at := z.addresses.Load(); at != nil {
		return *at, nil
	}
	return nil, errors.New("the name server is away")
}

func (z *zone) dial(ctx context.Context, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	l, ok := z.servers[host]
	if !ok {
		return nil, errors.New("no route to " + address)
	}
	return l.Dial(ctx, "", address)
}

func (z *zone) client(t *testing.T, age time.Duration) *Conn {
	t.Helper()
	return dial(t, "dns:///orders.example:9000", capacity.Plan{InFlight: 2, Attempts: capacity.NoRetry}, &Options{
		Resolvers: []resolver.Builder{&nameBuilder{z.lookup}}, Dial: z.dial, MaxAge: age,
	})
}

func TestServersThatReplaceOthersAreFoundInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := pipenet.Listen(), pipenet.Listen()
		z := &zone{servers: map[string]*pipenet.Listener{"10.0.0.1": first, "10.0.0.2": second}}
		z.set("10.0.0.1")
		s := serve(t, first, &upstream{})
		serve(t, second, &upstream{})
		c := z.client(t, 0)
		warm(t, c)
		<-time.After(10 * time.Second)
		z.set("10.0.0.2")
		s.Stop()
		began := time.Now()
		for ask(t.Context(), c) != nil {
			if took := time.Since(began); took > 4*time.Second {
				t.Fatalf("still no answer %v after the server was replaced", took)
			}
			<-time.After(10 * time.Millisecond)
		}
	})
}

func TestNewServersAreFoundWithinMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := pipenet.Listen(), pipenet.Listen()
		z := &zone{servers: map[string]*pipenet.Listener{"10.0.0.1": first, "10.0.0.2": second}}
		z.set("10.0.0.1")
		serve(t, first, &upstream{})
		serve(t, second, &upstream{})
		c := z.client(t, 2*time.Second)
		warm(t, c)
		z.set("10.0.0.1", "10.0.0.2")
		<-time.After(4 * time.Second)
		synctest.Wait()
		addresses := map[string]bool{}
		for _, l := range c.core.readyLinks() {
			addresses[l.address] = true
		}
		if len(addresses) != 2 {
			t.Errorf("servers connected to 4s after a second was named, MaxAge 2s = %v, want both", addresses)
		}
	})
}

func TestANameServerThatIsAwayChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		z := &zone{servers: map[string]*pipenet.Listener{"10.0.0.1": l}}
		z.set("10.0.0.1")
		serve(t, l, &upstream{})
		c := z.client(t, time.Second)
		warm(t, c)
		z.addresses.Store(nil)
		for range 60 {
			<-time.After(time.Second)
			wantNil(t)(ask(t.Context(), c))
		}
		z.set()
		for range 60 {
			<-time.After(time.Second)
			wantNil(t)(ask(t.Context(), c))
		}
		if got := z.lookups.Load(); got > 121 {
			t.Errorf("lookups in two minutes = %d, want one a second at most", got)
		}
	})
}
