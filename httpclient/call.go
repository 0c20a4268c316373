package httpclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/backoff"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/pool"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// call is one call of a user: its attempts, one after the other, and the body of
// the last. It is one heap object together with its first attempt, which for
// almost every call is the only one.
type call struct {
	core       *core
	plan       *capacity.Plan
	request    *http.Request   // the caller's, never modified
	url        *url.URL        // where to send it
	ctx        context.Context // the caller's, with the span
	span       trace.Span      // nil without anybody to see it
	start      time.Time       // all other times of a call are durations since then
	stream     bool            // the deadline ends with the headers
	method     telemetry.Method
	attempts   int
	code       int        // of the response that is returned
	earlier    error      // how the attempt before ended
	unexpected bool       // the upstream knows no expectations
	oneShot    bool       // would have been repeated, if its body could be had again
	failedOn   *pool.Conn // the connection of an attempt that failed
	first      attempt
}

// RoundTrip implements http.RoundTripper: one call, with its queueing, attempts
// and body. The gate is asked before anything is allocated: to say no must cost
// next to nothing, or there would be no help in it.
func (c *core) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	to, err := c.target.resolve(req.URL)
	if err != nil {
		c.closeBody(req)
		return nil, err
	}
	plan, method := c.plan.Load(), telemetry.OfMethod(req.Method)
	ctx, span := c.tracer.Start(req.Context(), method.String())
	waited, err := c.gate.EnterBy(ctx, start.Add(plan.Deadline))
	if err != nil {
		c.closeBody(req)
		err = c.refused(ctx, start, waited, err)
		o, now := outcomeOf(err, ctx), time.Now()
		c.telemetry.Failed(o, now, err)
		c.telemetry.Call(ctx, method, 0, o, now.Sub(start))
		if span != nil {
			l := &call{core: c, request: req, url: to, span: span, method: method}
			l.eventRefused(waited, err)
			l.endSpan(o)
		}
		return nil, err
	}
	l := &call{
		core: c, plan: plan, request: req, url: to, ctx: ctx, span: span,
		start: start, method: method, stream: isStream(ctx),
	}
	return l.run(waited)
}

// run sends attempts until one is good enough, or nothing more may be tried. It
// begins with a place.
func (l *call) run(waited time.Duration) (*http.Response, error) {
	a := &l.first
	for {
		l.attempts++
		resp, err := a.send(l, waited)
		l.unexpected = err == nil && a.failedExpectation(resp)
		pause, again := l.again(resp, err)
		if !again {
			return l.settle(a, resp, err)
		}
		l.earlier = discard(resp, err)
		if err := backoff.Sleep(l.ctx, pause); err != nil {
			return l.settle(nil, nil, causeOf(l.ctx))
		}
		if waited, err = l.enter(); err != nil {
			return l.settle(nil, nil, err)
		}
		a = new(attempt)
	}
}

// enter waits for a place for another attempt. The one before gave its own back:
// a call that pauses must not keep others out.
func (l *call) enter() (time.Duration, error) {
	began := time.Now()
	waited, err := l.core.gate.EnterBy(l.ctx, l.start.Add(l.plan.Deadline))
	if err != nil {
		err = l.core.refused(l.ctx, began, waited, err)
		l.eventRefused(waited, err)
	}
	return waited, err
}

// refused records why there was no place, and returns it as the caller sees it.
func (c *core) refused(ctx context.Context, began time.Time, waited time.Duration, err error) error {
	if waited > 0 {
		c.telemetry.QueueWait(ctx, waited)
	}
	refusal, ok := errors.AsType[*gate.Refusal](err)
	if !ok {
		return causeOf(ctx)
	}
	if refusal.Reason != gate.Closed {
		c.flow.Refused(began)
	}
	return c.gate.Explain(c.name, waited, refusal)
}

// settle returns the outcome of the last attempt to the caller. The call itself
// ends with the body; a is nil if it ended between two attempts.
func (l *call) settle(a *attempt, resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		o, now := outcomeOf(err, l.ctx), l.now()
		if a == nil {
			l.core.telemetry.Failed(o, l.start.Add(now), err)
		}
		l.end(o, now)
		return nil, l.explain(err)
	}
	l.code = resp.StatusCode
	if l.earlier != nil {
		l.remember(resp)
	}
	if o, over := a.settle(); over {
		l.end(o, l.now())
	}
	return resp, nil
}

// explain adds to the error of a call what its retries have to do with it. An
// error of TLS stands bare, as net/http has it: others look at its type without
// errors.As, to know that it is in vain to try again.
func (l *call) explain(err error) error {
	switch {
	case l.earlier != nil:
		return &RetryError{Attempts: l.attempts, Err: bare(err), Earlier: l.earlier}
	case l.oneShot:
		return &OneShotError{bare(err)}
	}
	return bare(err)
}

// now is the time since the call began. It reads half of what time.Now does.
func (l *call) now() time.Duration { return time.Since(l.start) }

// end records the call, once its body is done or it has failed.
func (l *call) end(o telemetry.Outcome, now time.Duration) {
	l.core.telemetry.Call(l.ctx, l.method, l.code, o, now)
	if l.span != nil {
		l.endSpan(o)
	}
}

// closeBody closes the body of a request that is not sent. A Close that may block
// is waited for by nobody.
func (c *core) closeBody(req *http.Request) {
	if !hasBody(req) {
		return
	}
	if _, memory := inMemory(req.Body); memory {
		req.Body.Close()
		return
	}
	c.closeApart(func() { req.Body.Close() })
}

// closeOurs closes the body of a request that an engine was given: ours, or one in
// memory.
func closeOurs(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// closeApart closes a body of the caller's on a goroutine of its own.
func (c *core) closeApart(shut func()) {
	c.stuck.Add(1)
	go c.shut(shut)
}

// shut closes a body that counts as stuck until it is done. A panic is one of a
// body that nobody needs any more.
func (c *core) shut(shut func()) {
	defer c.stuck.Add(-1)
	defer func() { _ = recover() }()
	shut()
}
