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

// never stands for a timeout that a client does not have.
const never = 24 * time.Hour

// Of returns the scenario that a contract states for one of its upstreams at peak:
// its callers, with a proxy each that takes replicas in turn, the service with the
// plan it derives, and the upstream, with nothing going wrong.
//
// If the contract can not be met, the plan is the best that its limit allows. A
// client that sizes nothing by itself is taken as it is configured.
func Of(c *contract.Contract, upstream string) (simulate.Scenario, error) {
	plan, err := planOf(c, upstream)
	if err != nil {
		return simulate.Scenario{}, err
	}
	s, err := simulate.Peak(c.Demand(upstream), plan)
	if err != nil {
		return simulate.Scenario{}, err
	}
	u := c.Upstreams[upstream]
	s.Name = c.Service + " and " + upstream
	s.Callers = callersOf(c, u)
	s.Upstream.Refusal = busyOf(u.Busy, simulate.Answer503)
	service := &s.Service
	service.Zones = max(1, min(c.Mesh.Zones, c.Replicas.Min))
	service.Start, service.WarmUp = c.Start.Time, c.Start.Warm
	service.Warming = busyOf(c.Start.Answers, simulate.Wait)
	service.Gated = c.Start.Ready != "process"
	if c.Mesh.Propagation != 0 {
		service.EndpointDelay, service.PreStop = c.Mesh.Propagation, c.Mesh.Propagation
	}
	if c.Mesh.PanicThreshold != nil {
		s.Proxy.PanicThreshold = 100 * float64(*c.Mesh.PanicThreshold)
	}
	if foreign := u.Client; foreign != nil {
		service.Client = simulate.Client{
			Pool:     simulate.Gate{Places: foreign.MaxConns, Queue: simulate.Unbounded},
			Deadline: cmp.Or(foreign.Timeout, never),
		}
		service.StopsWhenAbandoned = false
	}
	return s, doorOf(c, service)
}

// planOf is the plan of the contract, or the best that its limit allows.
func planOf(c *contract.Contract, upstream string) (capacity.Plan, error) {
	plan, err := c.Plan(upstream)
	if no, ok := errors.AsType[*capacity.Infeasible](err); ok {
		plan, _, err = no.Best()
	}
	return plan, err
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
