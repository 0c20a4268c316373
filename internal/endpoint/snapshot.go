package endpoint

import "time"

// State is an endpoint at one instant.
type State struct {
	Name     string        `json:"name"`
	State    string        `json:"state"` // "ok", "starting", "failing" or "slow"
	Out      bool          `json:"out"`   // left out, or in observe mode would be
	InFlight int           `json:"inFlight"`
	Share    float64       `json:"share"`   // of the calls of the last minute or so, in [0, 1]
	Age      time.Duration `json:"age"`     // since it was first named; 0 for those that there were from the start
	Typical  time.Duration `json:"typical"` // median until its answers come
	Failures uint64        `json:"failures"`
	Error    string        `json:"error,omitempty"` // the last
	FailedAt time.Time     `json:"failedAt,omitzero"`
}

// Counts are an endpoint set in numbers, for metrics.
type Counts struct {
	Endpoints, Out    int
	Applied, Observed [Reasons]uint64 // how often one was left out, or would have been
}

// Snapshot returns the state of each endpoint, in the order of the last Update.
func (s *Set) Snapshot(now time.Time) []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum float64
	for _, e := range s.all {
		e.serveLocked(now, 0)
		sum += e.served
	}
	states := make([]State, len(s.all))
	for i, e := range s.all {
		at := &states[i]
		*at = State{Name: e.name, State: "ok", Out: e.out, InFlight: e.inFlight, Typical: e.typical, Failures: e.failures, FailedAt: e.failedAt}
		switch {
		case e.out || e.strikes >= strikesOut:
			at.State = e.reason.String()
		case e.startedLocked(now) < 1:
			at.State = "starting"
		}
		if sum > 0 {
			at.Share = e.served / sum
		}
		if !e.born.IsZero() {
			at.Age = now.Sub(e.born)
		}
		if e.lastError != nil {
			at.Error = e.lastError.Error()
		}
	}
	return states
}

// Counts returns the numbers of the set.
func (s *Set) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Counts{Endpoints: len(s.all), Out: s.out, Applied: s.applied, Observed: s.observed}
}
