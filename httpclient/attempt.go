package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/incoming"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// attempt is one request sent, from the wait for its place to the end of its
// body. It is three things at once, to be one heap object: the context of the
// request, the trace that sees its connection, and the body of the response.
//
// It is tempting to keep finished attempts in a pool. But a dial that was started
// for one goes on when it is over, and reads the trace and the context later.
type attempt struct {
	context.Context // a child of the call's; embedded, so that the standard library knows its own
	cancel          context.CancelCauseFunc
	call            *call
	request         *http.Request // ours
	trace           httptrace.ClientTrace
	connections     int // how many this attempt was given: more than one are silent retries
	ownsHeader      bool

	entered   time.Time // has its place since
	connected time.Time
	progress  atomic.Int64 // of the body: nanoseconds after the call's start
	reading   atomic.Bool  // a Read is under way
	read      int64        // bytes of the body
	length    int64        // of the body, -1 if unknown
	http2     bool

	mu      sync.Mutex
	phase   phase
	due     time.Time // when the timer has something to say
	cause   error     // what this client ended the attempt with, if it did
	timer   *timer
	body    io.ReadCloser
	final   bool // its response went to the caller
	outcome telemetry.Outcome
}

type phase uint8

const (
	sending phase = iota
	receiving
	draining
	ended
)

// send waits for a place and sends the request. An attempt without error is
// over when its body is.
func (a *attempt) send(l *call) (*http.Response, error) {
	a.call = l
	c := l.core
	began := l.start
	if l.attempts > 1 {
		began = time.Now()
	}
	waited, err := c.gate.EnterBy(l.ctx, l.deadline)
	if err != nil {
		closeBody(l.request)
		return nil, a.refused(began, waited, err)
	}
	c.telemetry.QueueWait(l.ctx, waited)
	a.entered = began.Add(waited)
	a.connected = a.entered
	a.Context, a.cancel = context.WithCancelCause(l.ctx)
	if err := a.prepare(); err != nil {
		a.end(telemetry.Body)
		return nil, err
	}
	a.due = a.entered.Add(l.plan.Attempt)
	if l.deadline.Before(a.due) {
		a.due = l.deadline
	}
	a.timer = c.startTimer(a, a.due.Sub(a.entered))
	resp, err := c.engine.RoundTrip(a.request)
	if err != nil {
		err = a.reason(err)
		a.end(outcomeOf(err, l.ctx))
		return nil, err
	}
	return a.receive(resp)
}

// refused records why there was no place.
func (a *attempt) refused(began time.Time, waited time.Duration, err error) error {
	c := a.call.core
	if waited > 0 {
		c.telemetry.QueueWait(a.call.ctx, waited)
	}
	a.phase = ended
	refusal, ok := errors.AsType[*gate.Refusal](err)
	if !ok {
		return err // the caller's own cause
	}
	if refusal.Reason != gate.Closed {
		c.flow.Refused(began)
	}
	return c.gate.Explain(c.name, waited, refusal)
}

// prepare makes the request of this attempt: the caller's, with our context. Its
// header is copied only if something is added to it.
func (a *attempt) prepare() error {
	l := a.call
	a.watch()
	a.request = l.request.WithContext(a)
	a.request.URL = l.url
	if l.attempts > 1 {
		if err := a.rewind(); err != nil {
			return err
		}
		a.header().Set(incoming.AttemptHeader, strconv.Itoa(l.attempts))
	}
	if hasBody(a.request) && l.core.dialer.retiring.Load() {
		a.header()
	}
	l.core.inject(a)
	return nil
}

// rewind gives a repeated attempt its body from the start.
func (a *attempt) rewind() error {
	if !hasBody(a.request) {
		return nil
	}
	body, err := a.request.GetBody()
	if err != nil {
		return err
	}
	a.request.Body = body
	return nil
}

// header is the request's own header, to write to.
func (a *attempt) header() http.Header {
	if !a.ownsHeader {
		a.ownsHeader = true
		if a.request.Header = a.request.Header.Clone(); a.request.Header == nil {
			a.request.Header = make(http.Header)
		}
	}
	return a.request.Header
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

// receive takes the response over. Without a body the attempt is over.
func (a *attempt) receive(resp *http.Response) (*http.Response, error) {
	resp.Request = a.call.request
	now := time.Now()
	a.call.core.telemetry.Headers(now.Sub(a.connected))
	a.mu.Lock()
	if cause := a.cause; cause != nil { // the timer was faster
		a.mu.Unlock()
		resp.Body.Close()
		a.end(outcomeOf(cause, a.call.ctx))
		return nil, cause
	}
	if bodiless(resp) {
		a.mu.Unlock()
		a.end(telemetry.OfStatus(resp.StatusCode))
		return resp, nil
	}
	a.phase = receiving
	a.outcome = telemetry.OfStatus(resp.StatusCode)
	a.body, a.length, a.http2 = resp.Body, resp.ContentLength, resp.ProtoMajor == 2
	a.progress.Store(int64(now.Sub(a.call.start)))
	a.due = a.bodyDue()
	a.timer.reset(a.due.Sub(now))
	a.mu.Unlock()
	resp.Body = a
	return resp, nil
}

// bodiless says that nothing is left to wait for. The body of a 101 is the
// connection, and belongs to the caller.
func bodiless(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusSwitchingProtocols, http.StatusNoContent, http.StatusNotModified:
		return true
	}
	return resp.Body == http.NoBody || resp.ContentLength == 0 || resp.Request.Method == http.MethodHead
}

// reason is why the attempt failed: our own bound or the caller's cause rather
// than what net/http made of it.
func (a *attempt) reason(err error) error {
	a.mu.Lock()
	cause := a.cause
	a.mu.Unlock()
	if cause != nil {
		return cause
	}
	if a.call.ctx.Err() != nil {
		return context.Cause(a.call.ctx)
	}
	return err
}

// stop ends the attempt from our side, for the given cause.
func (a *attempt) stop(cause error) {
	a.mu.Lock()
	if a.cause == nil {
		a.cause = cause
	}
	a.mu.Unlock()
	a.cancel(cause)
}

// end gives the place back and records the attempt, once.
func (a *attempt) end(o telemetry.Outcome) {
	a.mu.Lock()
	if a.phase == ended {
		a.mu.Unlock()
		return
	}
	a.phase = ended
	a.outcome = o
	final, timer := a.final, a.timer
	a.mu.Unlock()

	c := a.call.core
	if timer != nil {
		c.stopTimer(timer)
	}
	a.cancel(nil)
	c.gate.Leave()
	now := time.Now()
	c.flow.Held(now, now.Sub(a.entered))
	c.telemetry.Attempt(o)
	if !o.Failed() {
		c.budget.Success(now)
	}
	if final {
		a.call.end(o)
	}
}

// settle marks the attempt as the one whose response the caller has, and says
// how it ended if it has already.
func (a *attempt) settle() (telemetry.Outcome, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.final = true
	return a.outcome, a.phase == ended
}
