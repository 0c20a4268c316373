package factory

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/debug"
	"github.com/offtake-go/offtake/debug/registry"
)

// newPage makes the debug page: what the metrics say, with the plans and the gate
// beside it, which are not metrics.
func (s *Service) newPage() *debug.Page {
	gatherer, ok := s.options.Registerer.(prometheus.Gatherer)
	if !ok {
		gatherer = prometheus.NewRegistry() // somebody else has the metrics
	}
	metrics := registry.Source(gatherer)
	return debug.Handler(func() debug.Snapshot {
		snapshot := metrics()
		s.addPlans(&snapshot)
		snapshot.Gates = append(snapshot.Gates, s.gate())
		return snapshot
	})
}

func (s *Service) addPlans(snapshot *debug.Snapshot) {
	contract, degraded := s.current(), s.whyDegraded()
	for i := range snapshot.Upstreams {
		u := &snapshot.Upstreams[i]
		u.Target = contract.Upstreams[u.Name].Target
		if why, ok := degraded[u.Name]; ok {
			u.Degraded = why.Error()
		}
		if c, ok := s.clients[u.Name]; ok {
			state := c.State()
			u.Plan, u.Observing, u.Draining, u.Oldest = debug.Plan(state.Plan), state.Observing, state.Draining, state.Oldest
			for _, f := range c.Failures() {
				u.Failures = append(u.Failures, debug.Failure(f))
			}
		}
	}
	for i := range snapshot.Doors {
		d := &snapshot.Doors[i]
		if s.door == nil || d.Name != contract.Service {
			continue
		}
		if plan, err := contract.Door.Plan(); err == nil {
			d.Plan = debug.Plan(plan)
		}
		stats := s.door.Stats()
		d.Observing, d.Draining, d.Shut, d.RetryAfter = stats.Observing, stats.Draining, stats.Shut, stats.RetryAfter
	}
}

func (s *Service) gate() debug.Gate {
	stats := s.ready.Stats()
	g := debug.Gate{State: stats.State.String()}
	for _, c := range stats.Checks {
		check := debug.Check{Name: c.Name, Passed: c.Passed, Degraded: c.Degraded, Attempts: c.Attempts, Took: c.Took}
		if c.Err != nil {
			check.Err = c.Err.Error()
		}
		g.Checks = append(g.Checks, check)
	}
	return g
}
