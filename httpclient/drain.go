package httpclient

import (
	"io"
	"time"
)

// A body that the caller closes unread is read to its end if that is short and
// quick: the connection can then be used again, and the place that is given back
// is a connection that is free. net/http does the same from Go 1.27 on, but
// behind the caller's back, when the place is long given away.
const (
	drainBytes = 64 << 10
	drainTime  = 50 * time.Millisecond
)

// beginDrain gives the rest of the body a short time, unless it is over or known
// to be long. A stream of HTTP/2 is reset instead: that costs no connection.
func (a *attempt) beginDrain() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase != receiving || a.http2 {
		return false
	}
	if a.length > 0 && a.length-a.read.Load() > drainBytes {
		return false
	}
	a.phase = draining
	now := a.call.now()
	a.due = now + drainTime
	if !a.call.stream {
		a.due = min(a.due, a.call.plan.Deadline)
	}
	a.timer.reset(a.nextLook(now))
	return true
}

func (a *attempt) drain() {
	_, _ = io.CopyN(io.Discard, a.body, drainBytes) // what is left over, and why, no longer matters
}
