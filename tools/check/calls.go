package check

import (
	"maps"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
)

// outbound brings together one upstream.
func (w *World) outbound(name string) Call {
	u := w.Contract.Upstreams[name]
	path := "upstreams." + name
	c := Call{
		Name: name, Ref: w.at(path), Rate: float64(u.Rate), Degraded: u.Degraded.Seconds(), P99: u.P99.Seconds(),
		Proxies: w.Service.Min, Busy: u.Busy, Idempotent: u.Idempotent, Upstream: &u, Attempts: 1,
	}
	if u.Rate != 0 {
		c.Mean = meanOf(u)
	}
	if c.Degraded == 0 {
		c.Degraded = c.Mean
	}
	if u.Replicas > 0 {
		c.Hosts = []int{u.Replicas}
	}
	w.pool(&c, name, u)
	host := u.Host
	if host == "" {
		host = hostOf(u)
	}
	host = completed(host, w.home)
	w.findWays(&c, host, portOf(u), u.Protocol == contract.GRPC)
	if hosts := w.hostsOf(host); len(hosts) > 0 {
		c.Hosts = hosts
	}
	return c
}

// pool takes the sizes from the plan, or from the client that is used instead.
func (w *World) pool(c *Call, name string, u contract.Upstream) {
	headroom := u.Headroom
	if headroom == 0 {
		headroom = 2
	}
	if k := u.Client; k != nil {
		c.Deadline, c.Attempt, c.Unbounded = k.Timeout.Seconds(), k.Timeout.Seconds(), k.Timeout == 0
		c.Pool = &Pool{Cap: k.MaxConns, Idle: k.MaxIdle, Queue: -1, Connections: k.MaxConns, Streams: max(u.Streams, 1), IdleTimeout: k.IdleTimeout.Seconds(), Headroom: headroom, Foreign: true}
		if k.MaxIdle == 0 {
			c.Pool.Idle = 2 // http.DefaultMaxIdleConnsPerHost
		}
		if k.IdleTimeout == 0 {
			c.Pool.IdleTimeout = 90 // http.DefaultTransport's
		}
		if u.Attempts > 0 {
			c.Attempts = u.Attempts
		}
		return
	}
	plan, ok := w.planOf(name)
	if !ok { // not even one place each: the rules on limits have to say so
		c.Pool = &Pool{Streams: max(u.Streams, 1), Headroom: headroom}
		return
	}
	c.Deadline, c.Attempt, c.Attempts, c.RetryShare = plan.Deadline.Seconds(), plan.Attempt.Seconds(), plan.Attempts, plan.RetryShare
	c.Pool = &Pool{
		Cap: plan.InFlight, Idle: plan.Connections, Queue: max(plan.Queue, 0), Connections: plan.Connections, Streams: plan.Streams,
		IdleTimeout: ownIdle(u).Seconds(), Headroom: headroom,
	}
}

// ownIdle is when a client of this module closes an idle connection:
// httpclient.Options.Idle, as package factory sets it.
func ownIdle(u contract.Upstream) time.Duration {
	const byDefault = 45 * time.Second
	if u.ServerIdle == 0 {
		return byDefault
	}
	return min(byDefault, u.ServerIdle/5*4)
}

// planOf returns the plan of an upstream, or the best that an infeasible demand
// allows.
func (w *World) planOf(name string) (capacity.Plan, bool) {
	plan, err := w.Contract.Plan(name)
	if err == nil {
		return plan, true
	}
	if e, ok := infeasible(err); ok {
		best, _, err := e.Best()
		return best, err == nil
	}
	return plan, false
}

// inbound brings together the callers.
func (w *World) inbound() []Call {
	c := w.Contract
	var calls []Call
	var from Call // what all callers have in common
	from.Inbound = true
	w.findWays(&from, completed(c.Service, w.home), 0, false)
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		caller := c.Callers[name]
		call := Call{
			Name: name + " to " + c.Service, Inbound: true, Ref: w.at("callers." + name),
			Rate: float64(caller.Rate), Hosts: w.hostsOf(c.Service), Proxies: max(caller.Replicas, 1),
			Deadline: caller.Deadline.Seconds(), Attempt: caller.Deadline.Seconds(), Unbounded: caller.Deadline == 0,
			Attempts: max(caller.Attempts, 1), Busy: "429", Policy: from.Policy, Route: from.Route, ways: from.ways, host: from.host,
		}
		if c.Door != nil {
			call.Mean = c.Door.Latency.Seconds()
			if c.Door.Busy != "" {
				call.Busy = c.Door.Busy
			}
		}
		calls = append(calls, call)
	}
	if len(calls) == 0 && (from.Policy != nil || from.Route != nil) {
		calls = append(calls, Call{
			Name: "callers to " + c.Service, Inbound: true, Ref: w.at("service"), Hosts: w.hostsOf(c.Service), Proxies: 1,
			Attempts: 1, Busy: "429", Policy: from.Policy, Route: from.Route, ways: from.ways, host: from.host,
		})
		if c.Door != nil && c.Door.Busy != "" {
			calls[0].Busy = c.Door.Busy
		}
	}
	return calls
}
