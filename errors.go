package offtake

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Both sentinels mean the same for a caller: the call was refused on this side, and
// it is safe to try elsewhere. Nothing was sent, unless a client's RetryError holds
// the refusal: then it was the repetition that was refused, of a call that may be
// repeated.
var (
	// ErrBusy says that no place came free in time. It is no failure of the
	// upstream, and must never be counted as one.
	ErrBusy = errors.New("busy")

	// ErrClosed says that the client or the door was shut down.
	ErrClosed = errors.New("closed")
)

// Error is a refusal with its facts. It wraps [ErrBusy] or [ErrClosed], and
// nothing else: a context's error passes through as it is, and a 429 or 503
// from the other side stays a response.
//
// An Error is immutable once returned; goroutines may share it.
type Error struct {
	// Upstream names the upstream or door that refused.
	Upstream string

	// InFlight of Places places were taken and Queued calls waited for one, at
	// the time of the refusal.
	InFlight, Places, Queued int

	// Waited is how long this call stood in the queue; 0 if it never did.
	Waited time.Duration

	// RetryAfter is when a place is likely to be free, estimated from the rate at
	// which calls end; 0 if nothing is known.
	RetryAfter time.Duration

	// Err is ErrBusy or ErrClosed.
	Err error
}

// Error names the upstream, the refusal and its numbers.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("offtake: ")
	if e.Upstream != "" {
		b.WriteString(e.Upstream)
		b.WriteString(": ")
	}
	if e.Err == nil {
		b.WriteString("refused")
	} else {
		b.WriteString(e.Err.Error())
	}
	if errors.Is(e.Err, ErrClosed) {
		return b.String()
	}
	fmt.Fprintf(&b, ": %d of %d places in flight, %d queued", e.InFlight, e.Places, e.Queued)
	if e.Waited > 0 {
		fmt.Fprintf(&b, ", waited %v", e.Waited)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, ", try again in %v", e.RetryAfter)
	}
	return b.String()
}

// Unwrap returns ErrBusy or ErrClosed.
func (e *Error) Unwrap() error { return e.Err }
