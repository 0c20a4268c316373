package httpclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// call is one call of a user: its attempts, one after the other, and the body of
// the last. It is one heap object together with its first attempt, which for
// almost every call is the only one.
type call struct {
	core     *core
	plan     *capacity.Plan
	request  *http.Request   // the caller's, never modified
	url      *url.URL        // where to send it
	ctx      context.Context // the caller's, with the span
	span     trace.Span      // nil without anybody to see it
	start    time.Time
	deadline time.Time
	stream   bool // the deadline ends with the headers
	method   telemetry.Method
	attempts int
	code     int   // of the response that is returned
	earlier  error // how the attempt before ended
	oneShot  bool  // would have been repeated, if its body could be had again
	first    attempt
}

// RoundTrip implements http.RoundTripper: one call, with its queueing, attempts
// and body.
func (c *core) RoundTrip(req *http.Request) (*http.Response, error) {
	to, err := c.target.resolve(req.URL)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	l := &call{
		core:    c,
		plan:    c.plan.Load(),
		request: req,
		url:     to,
		start:   time.Now(),
		method:  telemetry.OfMethod(req.Method),
		stream:  isStream(req.Context()),
	}
	l.deadline = l.start.Add(l.plan.Deadline)
	l.ctx, l.span = c.tracer.Start(req.Context(), l.method.String())
	return l.run()
}

// run sends attempts until one is good enough, or nothing more may be tried.
func (l *call) run() (*http.Response, error) {
	a := &l.first
	for {
		l.attempts++
		resp, err := a.send(l)
		pause, again := l.again(a, resp, err)
		if !again {
			return l.settle(a, resp, err)
		}
		l.earlier = a.discard(resp, err)
		if err := l.sleep(pause); err != nil {
			return l.settle(nil, nil, err)
		}
		a = new(attempt)
	}
}

// settle returns the outcome of the last attempt to the caller. The call itself
// ends with the body; a is nil if it ended between two attempts.
func (l *call) settle(a *attempt, resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		l.end(outcomeOf(err, l.ctx))
		return nil, l.explain(err)
	}
	l.code = resp.StatusCode
	if o, over := a.settle(); over {
		l.end(o)
	}
	return resp, nil
}

// explain adds to the error of a call what its retries have to do with it.
func (l *call) explain(err error) error {
	switch {
	case l.earlier != nil:
		return &RetryError{Attempts: l.attempts, Err: err, Earlier: l.earlier}
	case l.oneShot:
		return fmt.Errorf("%w (not sent again: the body can be read only once; set Request.GetBody)", err)
	}
	return err
}

// end records the call, once its body is done or it has failed.
func (l *call) end(o telemetry.Outcome) {
	l.core.telemetry.Call(l.ctx, l.method, l.code, o, time.Since(l.start))
	if l.span != nil {
		l.endSpan(o)
	}
}

// sleep pauses between two attempts, without a place. It returns the caller's
// cause if the caller leaves meanwhile.
func (l *call) sleep(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-l.ctx.Done():
		return context.Cause(l.ctx)
	}
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}
