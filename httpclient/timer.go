package httpclient

import (
	"sync/atomic"
	"time"
)

// timer ends attempts that are out of time. It is used again for other attempts,
// so that it may fire late, for one that it was not set for; and it is not set
// again for each new bound that lies further away. An attempt asks the clock
// before it believes it.
type timer struct {
	attempt atomic.Pointer[attempt]
	timer   *time.Timer
}

func (c *core) startTimer(a *attempt, d time.Duration) *timer {
	t, _ := c.timers.Get().(*timer)
	if t == nil {
		t = new(timer)
		t.timer = time.AfterFunc(time.Hour, t.fire) // and not d: it may fire before it is assigned
	}
	t.attempt.Store(a)
	t.timer.Reset(d)
	return t
}

func (c *core) stopTimer(t *timer) {
	t.attempt.Store(nil)
	if t.timer.Stop() {
		c.timers.Put(t)
	}
}

func (t *timer) reset(d time.Duration) { t.timer.Reset(d) }

func (t *timer) fire() {
	if a := t.attempt.Load(); a != nil {
		a.expire(t)
	}
}

// glance is how often an attempt looks whether its caller's context has ended. It
// is tempting to be told, by context.AfterFunc: but that costs three allocations
// for each call, and who waits is woken by the context itself. Only a body that
// nobody reads has to be looked after.
const glance = 100 * time.Millisecond

// nextLook is how long the timer may sleep.
func (a *attempt) nextLook(now time.Duration) time.Duration {
	left := a.due - now
	ctx := a.call.ctx
	if ctx.Done() == nil && a.upload == nil {
		return left
	}
	if d, ok := ctx.Deadline(); ok {
		left = min(left, max(d.Sub(a.call.start)-now, time.Millisecond)) // a context may be late by an instant
	}
	return max(1, min(left, glance)) // a timer of a bubble that is set to 0 by its own function crashes the race detector (Go 1.26.8)
}

// expire ends the attempt if one of its bounds has passed or its caller is gone,
// and waits for the next bound if not.
func (a *attempt) expire(t *timer) {
	gone := a.call.ctx.Err() != nil
	a.mu.Lock()
	switch a.phase { // the body, or that of the request, may have made progress
	case sending:
		a.due = a.sendDueLocked()
	case receiving:
		a.due = a.bodyDueLocked()
	}
	now := a.call.now()
	switch {
	case a.phase == ended:
		a.mu.Unlock()
		return
	case a.cause == nil && gone:
		a.cause = causeOf(a.call.ctx)
	case a.due > now:
		t.reset(a.nextLook(now))
		a.mu.Unlock()
		return
	case a.cause == nil:
		if a.cause = a.timeoutLocked(); a.cause == nil { // observed
			t.reset(a.nextLook(now))
			a.mu.Unlock()
			return
		}
	}
	cause, phase, wire := a.cause, a.phase, a.wire
	a.mu.Unlock()
	if phase != receiving { // somebody waits, and will see
		a.cancel(cause)
		return
	}
	if !a.reading.Load() { // nobody reads, and perhaps nobody will
		a.call.core.telemetry.Leaked()
	}
	a.end(outcomeOf(cause, a.call.ctx))
	if a.http2 { // its stream may wait for the upstream to take the request's body, which no context ends
		wire.Close()
	}
}

// bodyDueLocked is when neither the body nor that of the request has made progress
// for too long, or the whole call is over.
func (a *attempt) bodyDueLocked() time.Duration {
	l := a.call
	if a.overdue {
		return never
	}
	moved := a.progress.Load()
	if a.upload != nil {
		moved = max(moved, a.upload.progress.Load())
	}
	idle := time.Duration(moved) + l.plan.BodyIdle
	if !l.stream {
		return min(idle, l.plan.Deadline)
	}
	return idle
}
