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
func (l *call) again(a *attempt, resp *http.Response, err error) (time.Duration, bool) {
	why, safe, ok := l.retryable(resp, err)
	if !ok || l.attempts >= l.plan.Attempts {
		return 0, false
	}
	pause := backoff.Request.Pause(l.attempts)
	if resp != nil {
		if wait, said := retryafter.Parse(resp.Header.Get("Retry-After"), time.Now(), longestRetryAfter); said {
			pause = max(pause, wait)
		} else if why == telemetry.RetryBusy {
			return 0, false // 429 without a word on when
		}
	}
	if !l.mayRepeat(safe) || incoming.Attempt(l.ctx) > 1 {
		return 0, false
	}
	now := time.Now()
	if now.Add(pause + l.leastUseful()).After(l.deadline) {
		return 0, false
	}
	if d, ok := l.ctx.Deadline(); ok && now.Add(pause+l.leastUseful()).After(d) {
		return 0, false
	}
	if !l.core.budget.Take(now) {
		return 0, false
	}
	l.core.telemetry.Retry(why)
	return pause, true
}

// leastUseful is the time that another attempt must have to be worth sending:
// about what the upstream needs as a rule.
func (l *call) leastUseful() time.Duration {
	_, hold := l.core.flow.Measure(time.Now())
	return min(hold, l.plan.Attempt)
}

// retryable says why a result may be repeated. Safe means that the upstream has
// not begun to work on the request, so that any method may.
func (l *call) retryable(resp *http.Response, err error) (why telemetry.Retry, safe, ok bool) {
	if err == nil {
		return retryableStatus(resp)
	}
	if l.ctx.Err() != nil {
		return 0, false, false
	}
	switch outcomeOf(err, l.ctx) {
	case telemetry.Connect:
		return telemetry.RetryConnect, true, true
	case telemetry.DNS:
		return telemetry.RetryConnect, true, temporary(err)
	case telemetry.Timeout:
		timeout, own := errors.AsType[*TimeoutError](err)
		return telemetry.RetryTimeout, false, own && timeout.Phase == PhaseAttempt
	case telemetry.Reset:
		return telemetry.RetryReset, false, !errors.Is(err, errSilentRetries)
	}
	return 0, false, false
}

func retryableStatus(resp *http.Response) (why telemetry.Retry, safe, ok bool) {
	if _, overloaded := resp.Header["X-Envoy-Overloaded"]; overloaded {
		return 0, false, false // the proxy has said no for all of its hosts
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return telemetry.RetryBusy, true, true
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return telemetry.RetryStatus, false, true
	}
	return 0, false, false
}

// mayRepeat says whether the request itself allows it: its body can be had
// again, and either it was never begun or doing it twice is doing it once.
func (l *call) mayRepeat(safe bool) bool {
	if hasBody(l.request) && l.request.GetBody == nil {
		l.oneShot = true
		return false
	}
	return safe || idempotent(l.request)
}

// idempotent is RFC 9110, section 9.2.2, or the caller's word.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header.Get("Idempotency-Key") != "" || req.Header.Get("X-Idempotency-Key") != ""
}
