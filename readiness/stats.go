package readiness

import "time"

// Stats is a gate at one instant.
type Stats struct {
	State  State
	Checks []Check // in the order of Add
}

// Check is one check at one instant.
type Check struct {
	Name     string
	Passed   bool
	Attempts int

	// Took is the time from Run until the check passed, or until now if it has not;
	// 0 before Run.
	Took time.Duration

	// Degraded says that the gate does without what the check is about: see
	// [Gate.Degrade].
	Degraded bool

	// Err is the last failure, or why the gate is degraded; nil once the check has
	// passed in earnest.
	Err error
}

// Stats reads the gate.
func (g *Gate) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Stats{State: g.state, Checks: make([]Check, len(g.checks))}
	for i, c := range g.checks {
		s.Checks[i] = Check{Name: c.name, Passed: c.passed, Attempts: c.attempts, Took: c.took, Err: c.err}
		if c.without != nil {
			s.Checks[i].Degraded, s.Checks[i].Err = true, c.without
		}
		if !c.passed && !c.mistake && !g.started.IsZero() {
			s.Checks[i].Took = time.Since(g.started)
		}
	}
	return s
}
