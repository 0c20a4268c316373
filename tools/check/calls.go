package check

import (
	"cmp"
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
		Proxies: w.Service.Min, Busy: u.Busy, Idempotent: u.Idempotent, Upstream: &u, Attempts: 1, GRPC: u.Protocol == contract.GRPC,
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
	streams := max(w.Contract.Demand(name).Streams, 1)
	if k := u.Client; k != nil {
		c.Deadline, c.Attempt, c.Unbounded = k.Timeout.Seconds(), k.Timeout.Seconds(), k.Timeout == 0
		c.Pool = &Pool{Cap: k.MaxConns, Idle: k.MaxIdle, Queue: -1, Connections: k.MaxConns, Streams: streams, IdleTimeout: k.IdleTimeout.Seconds(), Headroom: headroom, Foreign: true}
		if shares(u) { // for HTTP/2 it bounds the dials at once, and no connections
			c.Pool.Cap, c.Pool.Connections = 0, 0
		}
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
		c.Pool = &Pool{Streams: streams, Headroom: headroom}
		return
	}
	c.Deadline, c.Attempt, c.Attempts, c.RetryShare = plan.Deadline.Seconds(), plan.Attempt.Seconds(), plan.Attempts, plan.RetryShare
	c.Pool = &Pool{
		Cap: plan.InFlight, Idle: plan.Connections, Queue: max(plan.Queue, 0), Connections: plan.Connections, Streams: plan.Streams,
		IdleTimeout: ownIdle(u).Seconds(), Headroom: headroom,
	}
}

// shares reports whether requests to an upstream share connections.
func shares(u contract.Upstream) bool {
	return u.Protocol == contract.HTTP2 || u.Protocol == contract.GRPC
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

// inbound brings together the callers, or what is known of them where none is stated.
func (w *World) inbound() []Call {
	c := w.Contract
	all := Call{Inbound: true, Hosts: w.hostsOf(c.Service), Proxies: 1, Attempts: 1, Busy: "429"} // what they have in common
	all.GRPC = w.speaksGRPC(completed(c.Service, w.home))
	w.findWays(&all, completed(c.Service, w.home), 0, false)
	if d := c.Door; d != nil {
		all.Mean, all.Busy = d.Latency.Seconds(), cmp.Or(d.Busy, all.Busy)
	}
	var calls []Call
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		caller, call := c.Callers[name], all
		call.Name, call.Ref = name+" to "+c.Service, w.at("callers."+name)
		call.Rate, call.Proxies, call.Attempts = float64(caller.Rate), max(caller.Replicas, 1), max(caller.Attempts, 1)
		call.Deadline, call.Attempt, call.Unbounded = caller.Deadline.Seconds(), caller.Deadline.Seconds(), caller.Deadline == 0
		calls = append(calls, call)
	}
	if len(calls) == 0 && (all.Policy != nil || all.Route != nil) {
		all.Name, all.Ref = "callers to "+c.Service, w.at("service")
		calls = append(calls, all)
	}
	return calls
}
