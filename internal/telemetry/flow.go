package telemetry

import (
	"sync"
	"time"
)

// Flow measures a stream of calls over the last minute: how many come per
// second, and how long each holds its place. Their product is the number of
// places that the traffic needs: Little's law, L = λ·W (Little, Operations
// Research 9(3), 1961).
//
// The zero Flow is ready for use, by any number of goroutines.
type Flow struct {
	mu    sync.Mutex
	start time.Time
	slots [flowSlots]flowSlot
}

const (
	slotLength = 10 * time.Second
	flowSlots  = 7 // six whole ones, and the one being filled
	flowWindow = (flowSlots - 1) * slotLength
)

type flowSlot struct {
	epoch   int64 // which slot of all time this is
	arrived int64
	held    int64
	hold    time.Duration
}

// Held counts a call that arrived and held a place for a time.
func (f *Flow) Held(now time.Time, hold time.Duration) {
	f.mu.Lock()
	s := f.slotLocked(now)
	s.arrived++
	s.held++
	s.hold += hold
	f.mu.Unlock()
}

// Refused counts a call that arrived and had no place. It needs one all the
// same: leaving it out would make a full gate look well sized.
func (f *Flow) Refused(now time.Time) {
	f.mu.Lock()
	f.slotLocked(now).arrived++
	f.mu.Unlock()
}

func (f *Flow) slotLocked(now time.Time) *flowSlot {
	if f.start.IsZero() {
		f.start = now
	}
	epoch := int64(now.Sub(f.start) / slotLength)
	s := &f.slots[epoch%flowSlots]
	if s.epoch != epoch {
		*s = flowSlot{epoch: epoch}
	}
	return s
}

// Measure returns the rate in calls per second and the mean hold over the last
// minute, or over the life of the flow if that is shorter (but not less than a
// second, so that a first call is not a high rate).
func (f *Flow) Measure(now time.Time) (rate float64, hold time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.start.IsZero() {
		return 0, 0
	}
	age := now.Sub(f.start)
	epoch := int64(age / slotLength)
	var sum flowSlot
	for _, s := range f.slots {
		if s.epoch > epoch-flowSlots && s.epoch <= epoch {
			sum.arrived += s.arrived
			sum.held += s.held
			sum.hold += s.hold
		}
	}
	covered := min(age, flowWindow+age%slotLength)
	rate = float64(sum.arrived) / max(covered, time.Second).Seconds()
	if sum.held > 0 {
		hold = sum.hold / time.Duration(sum.held)
	}
	return rate, hold
}

// Required is the number of places the measured traffic needs.
func (f *Flow) Required(now time.Time) float64 {
	rate, hold := f.Measure(now)
	return rate * hold.Seconds()
}
