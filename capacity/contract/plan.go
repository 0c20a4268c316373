package contract

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// Plan returns the plan of one upstream in one replica, resolved: what the file
// states stays, and the rest is derived from the traffic. It fails with a
// [*capacity.Infeasible] in its chain if the limit can not carry the demand.
func (c *Contract) Plan(upstream string) (capacity.Plan, error) {
	x, err := c.Explain(upstream)
	if err != nil {
		return capacity.Plan{}, fmt.Errorf("%v: upstream %s: %w", c.Position("upstreams."+upstream), upstream, err)
	}
	return x.Plan, nil
}

// Explain returns the plan of one upstream with the reason for each size. Without
// a rate there is nothing to derive from, and there are no Sizes.
func (c *Contract) Explain(upstream string) (*capacity.Explanation, error) {
	u, ok := c.Upstreams[upstream]
	if !ok {
		return nil, fmt.Errorf("contract: %s: no upstream %q; one of %v would do", c.Service, upstream, slices.Sorted(maps.Keys(c.Upstreams)))
	}
	if u.Rate == 0 {
		p, err := u.stated().Resolve()
		return &capacity.Explanation{Plan: p}, err
	}
	return c.Demand(upstream).Complete(u.stated())
}

// Demand returns the traffic of one upstream as the file states it.
func (c *Contract) Demand(upstream string) capacity.Demand { return c.demand(c.Upstreams[upstream]) }

func (c *Contract) demand(u Upstream) capacity.Demand {
	_, deadline := c.hastiest()
	return capacity.Demand{
		Rate: float64(u.Rate), Latency: u.Latency, P50: u.P50, P99: u.P99, Degraded: u.Degraded,
		Replicas: c.Replicas.Min, MaxReplicas: c.Replicas.Max,
		Surge: c.Replicas.Surge, Unavailable: c.Replicas.Unavailable, Draining: c.Replicas.Draining,
		Headroom: u.Headroom, WaitChance: float64(u.WaitChance), Limit: u.Limit, Streams: u.streams(),
		Deadline: deadline, Idempotent: u.Idempotent,
	}
}

// streams is how many requests share one connection. 100 is what RFC 9113, section
// 6.5.2, recommends as the least, and what net/http and grpc-go start with.
func (u Upstream) streams() int {
	if u.Streams == 0 && u.Protocol != "" && u.Protocol != HTTP1 {
		return 100
	}
	return u.Streams
}

// stated is what the file states of an upstream's plan by hand.
func (u Upstream) stated() capacity.Plan {
	return capacity.Plan{
		InFlight: u.InFlight, Connections: u.Connections, Streams: u.streams(), Queue: int(u.Queue),
		Wait: u.Wait, Deadline: u.Deadline, Attempt: u.Attempt, Attempts: u.Attempts,
		RetryShare: float64(u.RetryShare), BodyIdle: u.BodyIdle, Warm: u.Warm.Connections, Idempotent: u.Idempotent,
	}
}

// Plan returns the plan of the service's own door, resolved.
func (d *Door) Plan() (capacity.Plan, error) {
	return capacity.Plan{InFlight: d.InFlight, Queue: int(d.Queue), Wait: d.Wait, Deadline: d.Deadline}.Resolve()
}

// hastiest is the caller that gives up first, and when; "" if none states it.
func (c *Contract) hastiest() (name string, deadline time.Duration) {
	for _, n := range slices.Sorted(maps.Keys(c.Callers)) {
		if d := c.Callers[n].Deadline; d != 0 && (deadline == 0 || d < deadline) {
			name, deadline = n, d
		}
	}
	return name, deadline
}
