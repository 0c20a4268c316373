package grpcclient

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/resolver"

	"github.com/offtake-go/offtake/capacity"
)

// sharded is a policy above ours: one of ours for each server, and each in its turn.
type sharded struct{}

// grpc-go takes policies before main starts.
func init() { balancer.Register(sharded{}) }

func (sharded) Name() string { return "sharded" }

func (sharded) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	return endpointsharding.NewBalancer(cc, o, balancer.Get(Policy).Build, endpointsharding.Options{})
}

// several has one of our policies for each server of a fleet.
func several(t *testing.T, f *fleet, plan capacity.Plan) *Conn {
	t.Helper()
	o := f.options()
	o.ServiceConfig = `{"loadBalancingConfig":[{"sharded":{"childPolicy":[{"` + Policy + `":{}}]}}]}`
	o.Warm = func(ctx context.Context, c grpc.ClientConnInterface) error { return ask(ctx, c) }
	return dial(t, fleetName, plan, o)
}

func TestSeveralPoliciesUnderOneAreCountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan := capacity.Plan{InFlight: 20, Streams: 5, Wait: time.Second}
		f := newFleet(t, 2, slow(time.Second), grpc.MaxConcurrentStreams(5))
		c := several(t, f, plan)
		warm(t, c)
		if s := c.Stats(); s.Open != 8 || s.Places != 20 || s.Room != 40 {
			t.Errorf("open, places, room = %d, %d, %d, want the plan's 4 connections to each of 2, 20, 40", s.Open, s.Places, s.Room)
		}
		for address, n := range f.served {
			if got := n.Load(); got != 4*warmRounds {
				t.Errorf("calls of Options.Warm on %s = %d, want %d on each of its 4 connections", address, got, warmRounds)
			}
		}
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() { wantNil(t)(ask(t.Context(), c)) })
		}
		synctest.Wait()
		if got := c.core.active(); got != 4 {
			t.Errorf("connections with calls on them = %d, want 4", got)
		}
		group.Wait()
		wantIdle(t, c)
		if got := c.Stats().OverLimit; got != 0 {
			t.Errorf("calls above the limit = %d, want 0", got)
		}
		if err := c.Resize(capacity.Plan{InFlight: 10, Streams: 5}); err != nil {
			t.Fatal(err)
		}
		if s := c.Stats(); s.Open != 4 || s.Places != 10 || s.Room != 20 {
			t.Errorf("after Resize to 10: open, places, room = %d, %d, %d, want 4, 10, 20", s.Open, s.Places, s.Room)
		}
	})
}

func TestPlacesFollowTheStreamsOfSeveralPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil, grpc.MaxConcurrentStreams(2))
		c := several(t, f, capacity.Plan{InFlight: 4, Streams: 4})
		warm(t, c)
		wantPlaces := func(want, open int, when string) {
			t.Helper()
			synctest.Wait()
			if s := c.Stats(); s.Places != want || s.Open != open {
				t.Errorf("places %s = %d on %d connections, want %d on %d", when, s.Places, s.Open, want, open)
			}
		}
		wantPlaces(4, 2, "with both servers")
		s := f.state()
		f.name.UpdateState(resolver.State{Endpoints: s.Endpoints[:1]})
		wantPlaces(2, 1, "without one of them, and its policy closed")
		f.name.UpdateState(s)
		warm(t, c)
		wantPlaces(4, 2, "with both again")
		<-time.After(3 * defaultMaxAge)
		warm(t, c)
		wantPlaces(4, 2, "after all was replaced by age")
		if got := f.dialed(); got > 3+2*5 {
			t.Errorf("dials in three times the age of 2 connections = %d, want about 3 and 8: a policy that is closed replaces none", got)
		}
	})
}

func TestOneOfSeveralPoliciesMayBeDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil)
		f.servers["server-1"].Close()
		c := several(t, f, capacity.Plan{InFlight: 8, Streams: 4})
		err := c.Warm(t.Context())
		if e, ok := errors.AsType[*WarmError](err); !ok || e.Want != 4 || e.Got != 2 || !contains(err.Error(), "server-1") {
			t.Errorf("Warm() = %v, want 2 of 4 connections, and what is wrong with server-1", err)
		}
		for range 10 {
			wantNil(t)(ask(t.Context(), c))
		}
	})
}
