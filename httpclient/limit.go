package httpclient

import (
	"sync/atomic"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// limit is one that is applied, or in observe mode only counted, beside those of
// the gate.
type limit uint8

const (
	limitRetries  limit = iota // the budget had none left
	limitBody                  // Options.MaxBody
	limitHeader                // Options.MaxHeader, of a client that began in observe mode
	limitAttempt               // Plan.Attempt
	limitBodyIdle              // Plan.BodyIdle
	limitDeadline              // Plan.Deadline
	limitRetry                 // a retry, which in observe mode is not sent
	limitCount
)

var limitNames = [limitCount]string{"retry_budget", "body", "header", "attempt", "body_idle", "deadline", "retry"}

type limits struct {
	observing        atomic.Bool
	applied, ignored [limitCount]atomic.Uint64
}

// apply counts one decision, and says whether it is to be followed.
func (s *limits) apply(l limit) bool {
	if s.observing.Load() {
		s.ignored[l].Add(1)
		return false
	}
	s.applied[l].Add(1)
	return true
}

// ofPhase is the limit that a phase runs out of.
func ofPhase(p Phase) limit {
	switch p {
	case PhaseBodyIdle:
		return limitBodyIdle
	case PhaseDeadline:
		return limitDeadline
	}
	return limitAttempt
}

func (s *limits) counts() []telemetry.Refusals {
	counts := make([]telemetry.Refusals, limitCount)
	for l := range counts {
		counts[l] = telemetry.Refusals{Reason: limitNames[l], Refused: s.applied[l].Load(), Observed: s.ignored[l].Load()}
	}
	return counts
}
