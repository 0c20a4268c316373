package httpclient

import (
	"net/http"
	"strconv"
	"time"

	"github.com/offtake-go/offtake/internal/incoming"
)

// expect has the upstream agree before a long body is sent (RFC 9110, section
// 10.1.1). One that is busy then says so, and not after megabytes that it has to
// read, or by a connection that breaks while they are written.
func (a *attempt) expect() {
	c := a.call.core
	least := c.options.ExpectContinue
	if least == NoLimit || !hasBody(a.request) || a.request.ContentLength < least || c.hasty.Load() || c.limits.observing.Load() {
		return
	}
	if _, own := a.request.Header["Expect"]; own {
		return
	}
	a.header().Set("Expect", "100-continue")
	if !a.request.ProtoAtLeast(1, 1) { // or net/http would not wait
		a.request.Proto, a.request.ProtoMajor, a.request.ProtoMinor = "HTTP/1.1", 1, 1
	}
	a.expects = true
	a.trace.Got100Continue = func() {
		a.agreed.Store(true)
		if a.users != nil && a.users.Got100Continue != nil {
			a.users.Got100Continue()
		}
	}
}

// sendsUnasked takes note, when the body begins to be read, of an upstream that has
// not answered the expectation: it is not waited for again.
func (a *attempt) sendsUnasked() {
	if a.expects && !a.agreed.Load() {
		a.call.core.hasty.Store(true)
	}
}

// failedExpectation says that the upstream knows no expectations. The request goes
// again without.
func (a *attempt) failedExpectation(resp *http.Response) bool {
	if !a.expects || resp.StatusCode != http.StatusExpectationFailed {
		return false
	}
	a.call.core.hasty.Store(true)
	return true
}

// tellDeadline tells the upstream how long its answer is waited for.
func (a *attempt) tellDeadline() {
	l := a.call
	if !l.core.options.TellDeadline {
		return
	}
	left := min(l.each(), l.plan.Deadline-a.entered)
	if l.core.limits.observing.Load() { // then the caller alone ends the call
		left = 0
	}
	if d, ok := l.ctx.Deadline(); ok {
		own := d.Sub(l.start) - a.entered
		if left == 0 || own < left {
			left = own
		}
	}
	if left > 0 {
		a.header().Set(incoming.TimeoutHeader, strconv.FormatInt(max(1, int64(left/time.Millisecond)), 10))
	}
}
