package scenario

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/capacity/simulate"
)

const (
	// variation is the coefficient of variation of a latency of which the contract
	// has the mean alone: that of the exponential latencies behind the formulas of
	// package capacity.
	variation = 1

	// propagation is the contract's own default for Mesh.Propagation.
	propagation = 5 * time.Second

	// never stands for a timeout that a client does not have.
	never = 24 * time.Hour
)

// Of returns the scenario that a contract states for one of its upstreams at peak:
// its callers, with a proxy each that takes replicas in turn, the service with the
// plan it derives, and the upstream, with nothing going wrong.
//
// If the contract can not be met, the plan is the best that its limit allows.
func Of(c *contract.Contract, upstream string) (simulate.Scenario, error) {
	u := c.Upstreams[upstream]
	client, err := clientOf(c, upstream)
	if err != nil {
		return simulate.Scenario{}, err
	}
	s := simulate.Scenario{
		Name: c.Service + " and " + upstream, Settle: defaultSettle, Duration: defaultDuration,
		Callers: callersOf(c, u),
		Service: simulate.Service{
			Replicas: c.Replicas.Min, Zones: max(1, min(c.Mesh.Zones, c.Replicas.Min)),
			Client: client, Busy: simulate.Answer429, StopsWhenAbandoned: u.Client == nil,
			Start: c.Start.Time, WarmUp: c.Start.Warm, Warming: busyOf(c.Start.Answers, simulate.Wait),
			Gated:         c.Start.Ready != "process",
			EndpointDelay: cmp.Or(c.Mesh.Propagation, propagation),
		},
		Upstream: simulate.Upstream{
			Latency: simulate.Latency{Mean: u.Latency, CV: variation, P50: u.P50, P99: u.P99},
			Limit:   u.Limit * max(1, u.Streams), Refusal: busyOf(u.Busy, simulate.Answer503),
		},
	}
	if u.P50 != 0 {
		s.Upstream.Latency.Mean, s.Upstream.Latency.CV = 0, 0
	}
	// A service that drains takes requests until every proxy has looked away.
	s.Service.PreStop = s.Service.EndpointDelay
	if c.Mesh.PanicThreshold != nil {
		s.Proxy.PanicThreshold = 100 * float64(*c.Mesh.PanicThreshold)
	}
	return s, doorOf(c, &s.Service)
}

// callersOf joins the callers of the contract: the peak of the upstream, from all
// of their replicas, with the shortest patience and the most attempts of any.
func callersOf(c *contract.Contract, u contract.Upstream) simulate.Callers {
	all := simulate.Callers{Rate: simulate.Rate(u.Rate), Count: 1, Attempts: 1, Timeout: 10 * time.Second}
	count, hastiest := 0, time.Duration(0)
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		caller := c.Callers[name]
		count += max(1, caller.Replicas)
		all.Attempts = max(all.Attempts, caller.Attempts)
		if caller.Deadline != 0 && (hastiest == 0 || caller.Deadline < hastiest) {
			hastiest = caller.Deadline
		}
		if len(c.Callers) == 1 {
			for _, zone := range slices.Sorted(maps.Keys(caller.Zones)) {
				all.ZoneShares = append(all.ZoneShares, simulate.Share(caller.Zones[zone]))
			}
		}
	}
	all.Count = max(1, count)
	all.Timeout = cmp.Or(hastiest, all.Timeout)
	return all
}

// clientOf is the client of the plan, or one that is not this module's as it is
// configured.
func clientOf(c *contract.Contract, upstream string) (simulate.Client, error) {
	if foreign := c.Upstreams[upstream].Client; foreign != nil {
		return simulate.Client{
			Pool:     simulate.Gate{Places: foreign.MaxConns, Queue: simulate.Unbounded},
			Deadline: cmp.Or(foreign.Timeout, never),
		}, nil
	}
	plan, err := c.Plan(upstream)
	if no, ok := errors.AsType[*capacity.Infeasible](err); ok {
		plan, _, err = no.Best()
	}
	if err != nil {
		return simulate.Client{}, err
	}
	return simulate.ClientOf(plan)
}

// doorOf adds the contract's door.
func doorOf(c *contract.Contract, s *simulate.Service) error {
	if c.Door == nil {
		return nil
	}
	plan, err := c.Door.Plan()
	if err != nil {
		return err
	}
	s.Door = simulate.Gate{Places: plan.InFlight, Queue: simulate.Queue(plan.Queue), Wait: plan.Wait}
	s.Busy = busyOf(c.Door.Busy, simulate.Answer429)
	s.Liveness.SharesPool = c.Door.Probes == "shared"
	return nil
}

// busyOf is the simulator's word for an answer, as a proxy reads it: what a detector
// takes for broken is a 503.
func busyOf(a contract.Answer, unstated simulate.Busy) simulate.Busy {
	switch a {
	case "":
		return unstated
	case "queue":
		return simulate.Wait
	case "429", "RESOURCE_EXHAUSTED":
		return simulate.Answer429
	}
	return simulate.Answer503
}
