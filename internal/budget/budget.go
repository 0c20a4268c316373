// Package budget bounds retries as a share of requests.
//
// A limit on the attempts of one call does not bound the load of all of them: in
// a full outage every call retries, and three layers of three attempts each are
// 27 requests for one. A share does: with a share s in each of k layers, at most
// (1+s)^k requests, and a small floor, reach the bottom.
package budget

import (
	"sync"
	"time"
)

// The window over which the share is taken. It is long enough that a short
// burst of failures is retried whole, and short enough that an hour of good
// traffic buys nothing for the outage that follows.
const (
	slots      = 10
	slotLength = time.Second
)

// Floor is how many retries a client may make in one window whatever its
// traffic: a share of two requests a second is less than one.
const Floor = 3

// Budget is shared by all callers of one client. Make one with [New]. It is safe
// for concurrent use.
type Budget struct {
	mu    sync.Mutex
	share float64
	start time.Time
	slots [slots]slot
}

type slot struct {
	epoch              int64
	successes, retries int64
}

// New returns a budget for retries up to a share of the successful requests.
func New(share float64) *Budget { return &Budget{share: share} }

// Resize changes the share.
func (b *Budget) Resize(share float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.share = share
}

// Success adds one successful request. Failures add nothing, or an outage would
// pay for its own retries.
func (b *Budget) Success(now time.Time) {
	b.mu.Lock()
	b.slotLocked(now).successes++
	b.mu.Unlock()
}

// Take spends one retry if there is one left.
func (b *Budget) Take(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.balanceLocked(now) < 1 {
		return false
	}
	b.slotLocked(now).retries++
	return true
}

// Charge spends one retry that has happened already, if need be on credit: the
// transport has repeated a request by itself.
func (b *Budget) Charge(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slotLocked(now).retries++
}

// Balance is how many retries could be taken now; below 0 after charges.
func (b *Budget) Balance(now time.Time) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.balanceLocked(now)
}

func (b *Budget) balanceLocked(now time.Time) float64 {
	epoch := b.epochLocked(now)
	var successes, retries int64
	for _, s := range b.slots {
		if s.epoch > epoch-slots {
			successes += s.successes
			retries += s.retries
		}
	}
	return b.share*float64(successes) + Floor - float64(retries)
}

func (b *Budget) slotLocked(now time.Time) *slot {
	epoch := b.epochLocked(now)
	s := &b.slots[epoch%slots]
	if s.epoch != epoch {
		*s = slot{epoch: epoch}
	}
	return s
}

func (b *Budget) epochLocked(now time.Time) int64 {
	if b.start.IsZero() {
		b.start = now
	}
	return max(0, int64(now.Sub(b.start)/slotLength))
}
