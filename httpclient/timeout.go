package httpclient

import (
	"time"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// never is when a bound is met that is not applied.
const never = 1 << 62

// timeoutLocked says which bound an attempt has met, and what is to be thought of
// its connection. In observe mode it is nil, and the attempt has no bounds any more.
func (a *attempt) timeoutLocked() error {
	l := a.call
	e := &TimeoutError{Upstream: l.core.name, Phase: PhaseAttempt, Limit: l.each()}
	silent := a.connected
	uploading, waits := a.uploadingLocked()
	e.Unsent = waits && a.phase == sending
	switch {
	case a.phase == receiving:
		e.Phase, e.Limit = PhaseBodyIdle, l.plan.BodyIdle
		e.Unread = !a.reading.Load()
		silent = time.Duration(a.progress.Load())
	case uploading:
		e.Phase, e.Limit = PhaseBodyIdle, l.plan.BodyIdle
		silent = time.Duration(a.upload.progress.Load())
	case a.connections == 0:
		e.Phase, e.outcome = PhaseConnect, outcomeOfPhase(l.core.pool.Stage())
		n := l.core.pool.Counts()
		e.NoStream = !l.core.pool.Plain() && n.Open > 0 && n.Dialing == 0
	}
	if e.Unread || e.Unsent {
		e.outcome = telemetry.Caller
	}
	if a.due >= l.plan.Deadline && !(l.stream && (a.phase == receiving || uploading)) {
		e.Phase, e.Limit = PhaseDeadline, l.plan.Deadline
	}
	if a.phase != draining && !l.core.limits.apply(ofPhase(e.Phase)) {
		a.overdue = true
		a.due = never
		return nil
	}
	if a.on != nil && !e.Unread && !e.Unsent {
		a.on.Silent(l.start.Add(silent))
	}
	return e
}
