package httpclient

import (
	"errors"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/internal/backoff"
	"github.com/offtake-go/offtake/internal/incoming"
	"github.com/offtake-go/offtake/internal/retryafter"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// longestRetryAfter caps the other side's word: a pause is spent inside the
// deadline, and a slip of a digit elsewhere must not stop this caller for a day.
const longestRetryAfter = 10 * time.Second

// again decides whether the call is sent once more, and after what pause. The
// budget is asked last, so that it is spent only on what is then done.
func (l *call) again(resp *http.Response, err error) (time.Duration, bool) {
	why, safe, ok := l.retryable(resp, err)
	if !ok || l.attempts >= l.plan.Attempts {
		return 0, false
	}
	pause := backoff.Request.Pause(l.attempts)
	if resp != nil {
		if wait, said := retryafter.Parse(resp.Header.Get("Retry-After"), dateOf(resp), longestRetryAfter); said {
			pause = max(backoff.Request.Half(l.attempts), wait)
		} else if why == telemetry.RetryBusy {
			return 0, false // 429 without a word on when
		}
	}
	if !l.mayRepeat(safe) || incoming.Attempt(l.ctx) > 1 {
		return 0, false
	}
	now := time.Now()
	if l.core.limits.observing.Load() {
		if l.lastsUntil(now.Add(pause + l.leastUseful())) {
			l.core.limits.apply(limitRetry)
		}
		return 0, false
	}
	if until := now.Add(pause + l.leastUseful()); !l.lastsUntil(until) || !l.afford(now) {
		return 0, false
	}
	l.core.telemetry.Retry(why)
	l.eventRetry(why, pause)
	return pause, true
}

// dateOf is the upstream's clock, which a date in Retry-After is of.
func dateOf(resp *http.Response) time.Time {
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		return date
	}
	return time.Now()
}

// lastsUntil says whether the call may still go on at t.
func (l *call) lastsUntil(t time.Time) bool {
	if t.After(l.start.Add(l.plan.Deadline)) {
		return false
	}
	d, ok := l.ctx.Deadline()
	return !ok || !t.After(d)
}

// afford takes a retry from the budget.
func (l *call) afford(now time.Time) bool {
	if l.core.budget.Take(now) {
		return true
	}
	return !l.core.limits.apply(limitRetries)
}

// leastUseful is the time that another attempt must have to be worth sending:
// about what the upstream needs as a rule.
func (l *call) leastUseful() time.Duration {
	if l.first.upload != nil { // that takes as long as it takes; the answer then has all its time
		return l.plan.Attempt
	}
	_, hold := l.core.flow.Measure(time.Now())
	return min(hold, l.each())
}

// each bounds one attempt: a call that is sent once whatever happens has all the
// time.
func (l *call) each() time.Duration {
	return l.plan.AttemptOf(l.plan.Attempts > 1 && l.repeatable())
}

// repeatable says whether an attempt may be followed by another though the upstream
// had begun with it.
func (l *call) repeatable() bool {
	return (l.plan.Idempotent || idempotent(l.request)) && (!hasBody(l.request) || l.request.GetBody != nil) && incoming.Attempt(l.ctx) <= 1
}

// retryable says why a result may be repeated. Safe means that the upstream has
// not begun to work on the request, so that any method may.
func (l *call) retryable(resp *http.Response, err error) (why telemetry.Retry, safe, ok bool) {
	if l.unexpected {
		return telemetry.RetryStatus, true, true
	}
	if err == nil {
		return retryableStatus(resp)
	}
	if l.ctx.Err() != nil {
		return 0, false, false
	}
	timeout, own := errors.AsType[*TimeoutError](err)
	if own && timeout.Phase == PhaseConnect {
		return telemetry.RetryConnect, true, true
	}
	switch outcomeOf(err, l.ctx) {
	case telemetry.Connect:
		return telemetry.RetryConnect, true, true
	case telemetry.DNS:
		return telemetry.RetryConnect, true, temporary(err)
	case telemetry.Timeout:
		return telemetry.RetryTimeout, false, own && timeout.Phase == PhaseAttempt
	case telemetry.Reset:
		return telemetry.RetryReset, unprocessed(err), !errors.Is(err, errSilentRetries)
	}
	return 0, false, false
}

func retryableStatus(resp *http.Response) (why telemetry.Retry, safe, ok bool) {
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		why, safe = telemetry.RetryBusy, true
	case http.StatusTooEarly, http.StatusMisdirectedRequest: // refused unprocessed: RFC 8470, section 5.2, and RFC 9110, section 15.5.20
		why, safe = telemetry.RetryStatus, true
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		why = telemetry.RetryStatus
	default:
		return 0, false, false
	}
	_, overloaded := resp.Header["X-Envoy-Overloaded"] // the proxy has said no for all of its hosts
	return why, safe, !overloaded
}

// mayRepeat says whether the request itself allows it: its body can be had
// again, and either it was never begun or doing it twice is doing it once.
func (l *call) mayRepeat(safe bool) bool {
	if hasBody(l.request) && l.request.GetBody == nil {
		l.oneShot = true
		return false
	}
	return safe || l.plan.Idempotent || idempotent(l.request)
}

// idempotent is RFC 9110, section 9.2.2, or the caller's word. The plan's word, for
// all of an upstream's calls, comes before it.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != ""
}
