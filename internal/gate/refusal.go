package gate

import (
	"time"

	"github.com/offtake-go/offtake"
)

// Reason says why a gate refused.
type Reason uint8

// The reasons.
const (
	QueueFull Reason = iota // all places taken and the queue full, or there is none
	Waited                  // no place came free within the longest wait
	Late                    // the expected wait is longer than the caller can wait
	Closed                  // the gate drains or is closed
	Reasons                 // how many there are
)

// String is the reason as a metric label.
func (r Reason) String() string {
	switch r {
	case QueueFull:
		return "queue_full"
	case Waited:
		return "wait"
	case Late:
		return "late"
	default:
		return "closed"
	}
}

// Refusal is the error of a gate: one of a few values made beforehand, because
// to say no must cost nothing. [Gate.Explain] adds the numbers for whoever
// wants to read them.
type Refusal struct{ Reason Reason }

var refusals = [Reasons]*Refusal{{QueueFull}, {Waited}, {Late}, {Closed}}

// Error names the reason.
func (r *Refusal) Error() string { return "gate: " + r.Reason.String() }

// Unwrap is offtake.ErrClosed or offtake.ErrBusy.
func (r *Refusal) Unwrap() error {
	if r.Reason == Closed {
		return offtake.ErrClosed
	}
	return offtake.ErrBusy
}

// Explain turns a refusal into the error that callers see, with the numbers of
// the moment.
func (g *Gate) Explain(upstream string, waited time.Duration, r *Refusal) *offtake.Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := &offtake.Error{
		Upstream: upstream,
		InFlight: g.inFlight,
		Places:   g.limits.Places,
		Queued:   g.queue.len,
		Waited:   waited,
		Err:      r.Unwrap(),
	}
	if r.Reason != Closed {
		e.RetryAfter, _ = g.expectLocked(time.Now())
	}
	return e
}
