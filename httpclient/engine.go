package httpclient

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/endpoint"
	"github.com/offtake-go/offtake/internal/pool"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// engine sends requests on the connections of the pool.
type engine struct{ core *core }

// attemptKey finds the attempt that a request belongs to.
type attemptKey struct{}

// proofKey finds the one connection that a request for warming is for.
type proofKey struct{}

func attemptOf(ctx context.Context) *attempt {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	return a
}

// RoundTrip implements http.RoundTripper: one request, repeated only if a
// connection turned out to be dead, or the upstream has said that it has not begun.
func (e engine) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if on, ok := ctx.Value(proofKey{}).(http.RoundTripper); ok {
		return on.RoundTrip(req)
	}
	a := attemptOf(ctx)
	if a != nil && a.call.core != e.core {
		a = nil // of the client around this one
	}
	for try := 0; ; try++ {
		l := a.lease(try)
		if err := e.acquire(req, l, a); err != nil {
			closeOurs(req)
			return nil, err
		}
		resp, err := l.RoundTrip(req)
		e.judge(a, l, resp, err)
		if err == nil {
			return resp, nil
		}
		if req, err = e.again(req, l, try, err); err != nil {
			return nil, err
		}
	}
}

// acquire waits for a connection, and tells the trace.
func (e engine) acquire(req *http.Request, l *pool.Lease, a *attempt) error {
	c, ctx := e.core, req.Context()
	if _, own := c.target.hosts[req.URL.Host]; !own { // a wrapper has changed it
		return &HostError{Upstream: c.target.String(), Refused: req.URL.Host}
	}
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(c.target.dialAddressOf(req.URL.Host))
	}
	want := pool.Want{HTTP1: req.Header.Get("Upgrade") != "" && c.options.Protocols.HTTP1()}
	if a != nil {
		want.Avoid = a.call.failedOn
		if a.call.stream {
			l.Patient()
		}
	}
	waited, err := c.pool.Acquire(ctx, req.URL.Host, want, l)
	if err != nil {
		return dialFailed(err)
	}
	if a != nil {
		a.took(l)
	}
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: l.Conn().NetConn(), Reused: l.Reused(), WasIdle: !waited})
	}
	if ctx.Err() != nil { // or a connection that is well would be closed
		l.Release()
		return context.Cause(ctx)
	}
	return nil
}

// judge says how the exchange went, as far as its endpoint is concerned.
func (e engine) judge(a *attempt, l *pool.Lease, resp *http.Response, err error) {
	now := time.Now()
	switch {
	case err == nil && resp.StatusCode == http.StatusTooManyRequests:
		l.Answer(now, endpoint.Busy, nil)
	case err == nil && resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented:
		l.Answer(now, endpoint.Failure, &StatusError{Code: resp.StatusCode})
		if a != nil {
			a.call.failedOn = l.Conn()
		}
	case err == nil:
		l.Answer(now, endpoint.Success, nil)
	case a != nil && a.call.ctx.Err() != nil, !e.failed(a, l, err):
		l.Answer(now, endpoint.Unknown, nil)
	default:
		if a != nil {
			err = a.reason(err)
			a.call.failedOn = l.Conn()
		}
		l.Answer(now, endpoint.Failure, err)
	}
	if a == nil || err != nil {
		l.Done(now)
	}
}

// failed says whether an error is the endpoint's.
func (e engine) failed(a *attempt, l *pool.Lease, err error) bool {
	if a == nil {
		return l.Conn().Err() != nil
	}
	switch outcomeOf(a.reason(explain(l.Conn(), err)), a.call.ctx) {
	case telemetry.Timeout, telemetry.Reset, telemetry.Connect, telemetry.TLS:
		return true
	}
	return false
}

// silentRetries is how often a request is sent again by itself, since its
// connection turned out to be dead, or the upstream said that it has not begun. A
// request that makes the upstream close its connection would otherwise be sent
// once for each connection that is warm.
const (
	silentRetries  = 1
	silentRetries2 = 3 // over HTTP/2, which has more reasons: GOAWAY, REFUSED_STREAM
)

var errSilentRetries = errors.New("httpclient: the connection was closed again and again before a response: the request itself may be the reason")

// silentRetry charges the n-th repetition to the budget, and ends the attempt
// after too many: a wrapper may send it again, too.
func (a *attempt) silentRetry(n int, on *pool.Lease) {
	c := a.call.core
	most := silentRetries
	if on != nil && on.Conn().HTTP2() {
		most = silentRetries2
	}
	if n <= most {
		c.budget.Charge(time.Now())
		c.telemetry.SilentRetry()
		return
	}
	a.stop(errSilentRetries)
}

// dialFailed gives an error of the pool the form that outcomes are made from.
func dialFailed(err error) error {
	if err == pool.ErrClosed {
		return errClosedDialer
	}
	if d, ok := errors.AsType[*pool.DialError](err); ok {
		if err == d { // what wraps it has more to say
			err = d.Err
		}
		return &dialError{outcomeOfPhase(d.Phase), err}
	}
	return err
}

func outcomeOfPhase(p pool.Phase) telemetry.Outcome {
	switch p {
	case pool.DNS:
		return telemetry.DNS
	case pool.TLS:
		return telemetry.TLS
	}
	return telemetry.Connect
}

var errClosedDialer = &dialError{0, offtake.ErrClosed}
