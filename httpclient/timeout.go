package httpclient

import "time"

// timeoutLocked says which bound an attempt has met, and what is to be thought of
// its connection.
func (a *attempt) timeoutLocked() error {
	l := a.call
	e := &TimeoutError{Upstream: l.core.name, Phase: PhaseAttempt, Limit: l.plan.Attempt}
	silent := a.connected
	switch {
	case a.phase == receiving:
		e.Phase, e.Limit = PhaseBodyIdle, l.plan.BodyIdle
		e.Unread = !a.reading.Load()
		silent = time.Duration(a.progress.Load())
	case a.connections == 0:
		e.Phase, e.outcome = PhaseConnect, outcomeOfPhase(l.core.pool.Stage())
	}
	if a.due >= l.plan.Deadline && !(a.phase == receiving && l.stream) {
		e.Phase, e.Limit = PhaseDeadline, l.plan.Deadline
	}
	if a.on != nil && !e.Unread {
		a.on.Silent(l.start.Add(silent))
	}
	return e
}
