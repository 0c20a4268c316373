package httpclient

import (
	"time"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// timeoutLocked says which bound an attempt has met, and what is to be thought of
// its connection.
func (a *attempt) timeoutLocked() error {
	l := a.call
	e := &TimeoutError{Upstream: l.core.name, Phase: PhaseAttempt, Limit: l.each()}
	silent := a.connected
	switch {
	case a.phase == receiving:
		e.Phase, e.Limit = PhaseBodyIdle, l.plan.BodyIdle
		e.Unread = !a.reading.Load()
		silent = time.Duration(a.progress.Load())
	case a.upload.underway():
		e.Phase, e.Limit, e.Unfed = PhaseUpload, l.plan.BodyIdle, a.upload.unfed()
		silent = time.Duration(a.upload.moved.Load())
		if e.Unfed {
			e.outcome = telemetry.Caller
		}
	case a.connections == 0:
		e.Phase, e.outcome = PhaseConnect, l.core.dialer.stage()
	}
	if a.due >= l.plan.Deadline && !(a.phase == receiving && l.stream) {
		e.Phase, e.Limit = PhaseDeadline, l.plan.Deadline
	}
	if a.conn != nil && !e.Unread && !e.Unfed {
		a.conn.suspect(l.start.Add(silent))
	}
	return e
}
