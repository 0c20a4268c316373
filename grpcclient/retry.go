package grpcclient

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/internal/backoff"
	"github.com/offtake-go/offtake/internal/incoming"
	"github.com/offtake-go/offtake/internal/telemetry"
	"github.com/offtake-go/offtake/internal/verdict/grpcverdict"
)

// again decides whether the call is sent once more, and after what pause. The
// budget is asked last, so that it is spent only on what is then done.
//
// There is no hedging: it doubles the load of the calls that are slow because of
// load.
func (l *call) again(a *attempt, now time.Time, err error) (time.Duration, bool) {
	if l.attempts >= l.sizes.plan.Attempts || incoming.Attempt(l.ctx) > 1 {
		return 0, false
	}
	switch err.(type) { //nolint:errorlint // they come from here as they are
	case *ContextError, *RequestError: // the caller's end, and the caller's fault
		return 0, false
	}
	s := status.Convert(err)
	told, may := a.told(s)
	why, ok := l.retryable(a, s, told)
	if !ok || !may {
		return 0, false
	}
	pause := max(backoff.Request.Pause(l.attempts), told)
	if pause > l.left(now)-l.leastUseful(now) || !l.core.afford(now) {
		return 0, false
	}
	l.core.telemetry.Retry(why)
	return pause, true
}

// left is the time that the call has. What the server says is compared with it and
// never added to anything: its longest word is all that a time.Duration holds.
func (l *call) left(now time.Time) time.Duration {
	left := l.deadline.Sub(now)
	if d, ok := l.ctx.Deadline(); ok {
		left = min(left, d.Sub(now))
	}
	return left
}

// afford takes a retry from the budget.
func (c *core) afford(now time.Time) bool {
	if c.budget.Take(now) {
		return true
	}
	if !c.observing.Load() {
		c.unpaid.Add(1)
		return false
	}
	c.lent.Add(1)
	c.budget.Charge(now)
	return true
}

// leastUseful is the time that another attempt must have to be worth sending: about
// what the upstream needs as a rule.
func (l *call) leastUseful(now time.Time) time.Duration {
	_, hold := l.core.flow.Measure(now)
	return min(hold, l.each())
}

// told is when the server wants to see the call again, from its pushback or the
// RetryInfo in its status; 0 if it has said nothing. May is false if it said never.
func (a *attempt) told(s *status.Status) (after time.Duration, may bool) {
	switch word := a.pushback.Load(); {
	case word < 0:
		return 0, false
	case word > 0:
		return max(1, time.Duration(word-1)*time.Millisecond), true
	}
	return grpcverdict.RetryAfter(s), true
}

// retryable says why the end of an attempt may be repeated.
func (l *call) retryable(a *attempt, s *status.Status, told time.Duration) (telemetry.Retry, bool) {
	if _, ended := over(l.ctx); ended {
		return 0, false
	}
	switch code := s.Code(); code {
	case codes.ResourceExhausted:
		return telemetry.RetryBusy, told > 0
	case codes.Unavailable:
		if a.unsent() {
			return telemetry.RetryConnect, true
		}
		// A server that drains has not begun, and another one may be there.
		return unavailable(a, s), l.repeats(code) || ReasonOf(s.Err()) == ServerDraining
	case codes.DeadlineExceeded:
		if a.unsent() {
			return telemetry.RetryConnect, true
		}
		return telemetry.RetryTimeout, l.repeats(code)
	default:
		return telemetry.RetryStatus, l.repeats(code)
	}
}

// repeats says whether a call may be sent again after code, though the server may
// have begun with it: by its method's word, or by the plan's for all methods.
func (l *call) repeats(code codes.Code) bool {
	if len(l.own.Retry) == 0 && l.sizes.plan.Idempotent {
		return code == codes.Unavailable || code == codes.DeadlineExceeded
	}
	return slices.Contains(l.own.Retry, code)
}

// unavailable tells the three apart that UNAVAILABLE stands for.
func unavailable(a *attempt, s *status.Status) telemetry.Retry {
	switch {
	case grpcverdict.ProxyBusy(s.Message()):
		return telemetry.RetryProxyBusy
	case a.core.balancing.own && !a.has(markReceived):
		return telemetry.RetryReset
	}
	return telemetry.RetryStatus
}
