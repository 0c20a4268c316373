package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/internal/pool"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// attempt is one request sent, from the moment it has its place to the end of its
// body. It is three things at once, to be one heap object: the context of the
// request, the trace that sees its connection, and the body of the response.
//
// It is tempting to keep finished attempts in a pool. But a dial that was started
// for one goes on when it is over, and reads the trace and the context later.
//
// All times are durations since the call began.
type attempt struct {
	context.Context // a child of the call's; embedded, so that the standard library knows its own
	cancel          context.CancelCauseFunc
	call            *call
	request         *http.Request // ours; with Options.Wrap, as it comes out of the wrapper
	ownsHeader      bool
	expects         bool        // has asked, of its own accord, whether to send the body
	agreed          atomic.Bool // and the upstream has said yes

	trace httptrace.ClientTrace
	users *httptrace.ClientTrace // nil for none

	entered  time.Duration // has its place since
	received time.Duration // had the headers
	progress atomic.Int64  // of the body
	reading  atomic.Bool   // a Read is under way
	read     atomic.Int64  // bytes of the body; atomic, for a Close beside a Read
	length   int64         // of the body, -1 if unknown
	http2    bool
	code     int

	ending sync.Mutex // held by whoever ends the attempt, until all of it is done

	mu          sync.Mutex
	connections int         // how many this attempt was given: more than one are silent retries
	first       pool.Lease  // of connections: for almost every attempt the only one
	on          *pool.Lease // the latest; nil before
	leased      bool
	connected   time.Duration // has it since; before that, waits for it since
	phase       phase
	due         time.Duration // when the timer has something to say
	overdue     bool          // has met a bound that is only observed
	cause       error         // what this client ended the attempt with, if it did
	timer       *timer
	upload      *upload // nil for a request without a body, or with a short one in memory
	body        io.ReadCloser
	wire        io.ReadCloser // the body as the engine has it, below that of a wrapper
	final       bool          // its response went to the caller
	outcome     telemetry.Outcome
}

type phase uint8

const (
	sending phase = iota
	receiving
	draining
	ended
)

// errPanic is how an attempt ends that somebody else's code panicked in. The
// panic goes on; only the place comes back.
var errPanic = errors.New("httpclient: panic in a transport, a trace or a body")

var errNothing = errors.New("httpclient: the transport of Options.Wrap returned neither a response nor an error")

// send sends the request of an attempt that has its place. One without error is
// over when its body is.
func (a *attempt) send(l *call, waited time.Duration) (resp *http.Response, err error) {
	a.call = l
	c := l.core
	if waited > 0 || l.attempts > 1 {
		a.entered = l.now()
	}
	a.connected = a.entered
	c.telemetry.QueueWait(l.ctx, waited)
	a.Context, a.cancel = context.WithCancelCause(l.ctx)
	err = errPanic
	defer func() {
		if err != nil {
			a.fail(err)
		}
		if err == errPanic {
			l.end(telemetry.Caller, l.now())
		}
	}()
	l.eventAttempt(waited)
	if err = a.prepare(); err != nil {
		return nil, err
	}
	a.due = min(a.entered+l.each(), l.plan.Deadline)
	a.timer = c.startTimer(a, a.nextLook(a.entered))
	err = errPanic
	resp, err = c.engine.RoundTrip(a.request)
	if err == nil && resp == nil {
		err = errNothing
	}
	if err != nil {
		err = a.reason(err)
		return nil, err
	}
	err = a.receive(resp)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// fail ends an attempt that got no response. Its last wait counts, though it was
// in vain: a histogram of waits that ended well would show the least when
// upstreams are at their worst.
func (a *attempt) fail(err error) {
	now := a.call.now()
	a.mu.Lock()
	wait, waiting := now-a.connected, a.connections == 0
	a.mu.Unlock()
	if waiting {
		a.call.core.telemetry.ConnectWait(wait)
	} else {
		a.call.core.telemetry.Headers(wait)
	}
	o := outcomeOf(err, a.call.ctx)
	a.call.core.telemetry.Failed(o, a.call.start.Add(now), err)
	a.end(o)
}

// receive takes the response over. Without a body the attempt is over.
func (a *attempt) receive(resp *http.Response) error {
	l := a.call
	now := l.now()
	if resp.Body == nil { // by a wrapper; http.Client is as lenient
		resp.Body = http.NoBody
	}
	if err := unasked(resp, a.request); err != nil {
		return err
	}
	if err := l.core.headerTooLong(resp.Header); err != nil {
		resp.Body.Close()
		return err
	}
	a.mu.Lock()
	if cause := a.cause; cause != nil { // the timer was faster
		a.mu.Unlock()
		resp.Body.Close()
		return cause
	}
	a.code, a.outcome, a.received = resp.StatusCode, telemetry.OfStatus(resp.StatusCode), now
	bodiless := bodiless(resp, l.request.Method)
	if !bodiless {
		a.phase = receiving
		a.body, a.length, a.http2 = resp.Body, resp.ContentLength, resp.ProtoMajor == 2
		if a.wire == nil {
			a.wire = a.body
		}
		a.progress.Store(int64(now))
		if due := a.bodyDueLocked(); due < a.due { // a later one is found when the timer fires
			a.due = due
			a.timer.reset(a.nextLook(now))
		}
	}
	wait, on := now-a.connected, a.on
	a.mu.Unlock()
	l.core.telemetry.Headers(wait)
	if resp.StatusCode >= http.StatusTooManyRequests {
		l.core.telemetry.Failed(telemetry.OfStatus(resp.StatusCode), l.start.Add(now), &StatusError{Code: resp.StatusCode})
	}
	resp.Request = l.request
	if bodiless {
		if on != nil && resp.StatusCode == http.StatusSwitchingProtocols {
			on.Upgraded()
		}
		a.finish()
		return nil
	}
	resp.Body = a
	return nil
}

// bodiless says that nothing is left to wait for. The body of a 101 is the
// connection, and belongs to the caller.
//
// With HTTP/2 only the end of the stream ends a response: one without content,
// whatever its status, may still have trailers to come, and the request's body
// may still be under way.
func bodiless(resp *http.Response, method string) bool {
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols, method == http.MethodHead:
		return true
	case resp.ProtoMajor == 2:
		return stateless(resp.Body) && resp.ContentLength <= 0
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return true
	}
	return resp.Body == http.NoBody || resp.ContentLength == 0
}

// stateless says that a body is a type without fields, and so has nothing to wait
// for. net/http's HTTP/2 gives such a one to a stream that has ended; it is not
// http.NoBody, and has no exported name.
func stateless(body io.ReadCloser) bool { return reflect.TypeOf(body).Size() == 0 }

// reason is why the attempt failed: our own bound or the caller's cause rather
// than what net/http made of it.
func (a *attempt) reason(err error) error {
	a.mu.Lock()
	cause, u := a.cause, a.upload
	a.mu.Unlock()
	if cause != nil {
		return cause
	}
	if u != nil {
		if _, failed := u.state(); failed != nil {
			return failed
		}
	}
	if a.call.ctx.Err() != nil {
		return causeOf(a.call.ctx)
	}
	return a.call.core.typed(err)
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

// finish ends an attempt whose response is as whole as the caller wants it.
func (a *attempt) finish() {
	a.mu.Lock()
	a.endLocked(a.outcome)
}

// end ends an attempt that failed.
func (a *attempt) end(o telemetry.Outcome) {
	a.mu.Lock()
	a.endLocked(o)
}

// endLocked gives the place back and records the attempt, once. It unlocks. Whoever
// comes second waits for that: when a call has returned, its place is back.
func (a *attempt) endLocked(o telemetry.Outcome) {
	if a.phase == ended {
		a.mu.Unlock()
		a.ending.Lock()
		defer a.ending.Unlock()
		return
	}
	a.ending.Lock()
	defer a.ending.Unlock()
	hadBody := a.phase != sending
	a.phase, a.outcome = ended, o
	final, timer, cause, on, u := a.final, a.timer, a.cause, a.on, a.upload
	a.mu.Unlock()

	l := a.call
	c := l.core
	if timer != nil {
		c.stopTimer(timer)
	}
	c.gate.Leave()
	since := l.now()
	now := l.start.Add(since)
	if on != nil {
		on.Done(now)
	}
	if u != nil {
		u.leave()
	}
	c.flow.Held(now, since-a.entered)
	c.telemetry.Attempt(o)
	if hadBody {
		c.telemetry.Body(since - a.received)
	}
	if o.Pays() {
		c.budget.Success(now)
	}
	if final {
		l.end(o, since)
	}
	a.cancel(cause) // last: a reader that it wakes finds all done
}

// settle marks the attempt as the one whose response the caller has, and says
// how it ended if it has already.
func (a *attempt) settle() (telemetry.Outcome, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.final = true
	return a.outcome, a.phase == ended
}

// lease is where the connection of one try of the attempt is kept. A wrapper may
// send more than one request at a time.
func (a *attempt) lease(try int) *pool.Lease {
	if a == nil {
		return new(pool.Lease)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if try > 0 || a.leased {
		return new(pool.Lease)
	}
	a.leased = true
	return &a.first
}

// took takes note of the connection that the attempt has now.
func (a *attempt) took(on *pool.Lease) {
	a.mu.Lock()
	before := a.on
	a.on = on
	a.mu.Unlock()
	if before != nil {
		before.Done(time.Now())
	}
}
