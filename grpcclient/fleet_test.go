package grpcclient

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
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
