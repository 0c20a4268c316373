package httpclient

import (
	"sync/atomic"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// limit is one that is applied, or in observe mode only counted, beside those of
// the gate.
type limit uint8

const (
	limitRetries limit = iota // the budget had none left
	limitBody                 // Options.MaxBody
	limitCount
)

var limitNames = [limitCount]string{"retry_budget", "body"}

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

func (s *limits) counts() []telemetry.Refusals {
	counts := make([]telemetry.Refusals, limitCount)
	for l := range counts {
		counts[l] = telemetry.Refusals{Reason: limitNames[l], Refused: s.applied[l].Load(), Observed: s.ignored[l].Load()}
	}
	return counts
}
