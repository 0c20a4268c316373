package factory

import (
	"github.com/offtake-go/offtake/internal/telemetry"
	"github.com/offtake-go/offtake/readiness"
)

// buildReadyMetrics shows the gate to Prometheus. Package readiness itself imports
// nothing, so that it answers whatever else is stuck.
func (s *Service) buildReadyMetrics() error {
	var err error
	s.metrics, err = telemetry.NewReady(s.options.Registerer, func() (bool, []telemetry.ReadyCheck) {
		stats := s.ready.Stats()
		checks := make([]telemetry.ReadyCheck, len(stats.Checks))
		for i, c := range stats.Checks {
			checks[i] = telemetry.ReadyCheck{Name: c.Name, Took: c.Took, Degraded: c.Degraded}
		}
		return stats.State == readiness.Ready, checks
	})
	return err
}
