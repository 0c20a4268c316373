package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http/httptrace"
	"time"
)

// The transport repeats a request by itself when a connection that was used
// before turns out to be dead; it does so once for each such connection, however
// many there are. That is bounded here: a request that makes the upstream close
// its connection would otherwise be sent once for each connection that is warm.
// HTTP/2 has more reasons of its own (GOAWAY, REFUSED_STREAM).
const (
	silentRetries  = 1
	silentRetries2 = 3
)

var errSilentRetries = errors.New("httpclient: the connection was closed again and again before a response: the request itself may be the reason")

// traceKey is the key under which package httptrace keeps a trace in a context.
// It is not exported, and is asked for here with a context that listens.
var traceKey = func() any {
	var l listener
	httptrace.ContextClientTrace(&l)
	return l.key
}()

type listener struct {
	context.Context
	key any
}

func (l *listener) Value(key any) any {
	l.key = key
	return nil
}

// Value implements context.Context.
func (a *attempt) Value(key any) any {
	if key == traceKey {
		return &a.trace
	}
	return a.Context.Value(key)
}

// Deadline implements context.Context, for wrappers that look at it.
func (a *attempt) Deadline() (time.Time, bool) {
	if d, ok := a.Context.Deadline(); ok && d.Before(a.call.deadline) {
		return d, true
	}
	return a.call.deadline, !a.call.stream
}

// watch sets the trace: the user's, with our look at each connection.
func (a *attempt) watch() {
	if users := httptrace.ContextClientTrace(a.call.ctx); users != nil {
		a.trace = *users
	}
	a.trace.GotConn = a.gotConn
}

// gotConn runs on the caller's goroutine, each time the transport has a
// connection for this attempt.
func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	l := a.call
	a.connections++
	if a.connections > 1 {
		a.silentRetry(info)
	}
	if !info.Reused || !info.WasIdle { // else it was there at once
		now := time.Now()
		l.core.telemetry.ConnectWait(now.Sub(a.connected))
		a.connected = now
	} else {
		l.core.telemetry.ConnectWait(0)
	}
	if c := ourConn(info.Conn); c != nil && c.old() {
		a.retire()
	}
	if users := httptrace.ContextClientTrace(l.ctx); users != nil && users.GotConn != nil {
		users.GotConn(info)
	}
}

// silentRetry charges a repetition by the transport to the budget, and ends the
// attempt after too many.
func (a *attempt) silentRetry(info httptrace.GotConnInfo) {
	c := a.call.core
	most := silentRetries
	if t, ok := info.Conn.(*tls.Conn); ok && t.ConnectionState().NegotiatedProtocol == "h2" {
		most = silentRetries2
	} else if c.options.Protocols.UnencryptedHTTP2() && !c.options.Protocols.HTTP1() {
		most = silentRetries2
	}
	if a.connections > 1+most {
		a.stop(errSilentRetries)
		if most == silentRetries {
			info.Conn.Close() // so that not one byte is sent on it
		}
		return
	}
	c.budget.Charge(time.Now())
	c.telemetry.SilentRetry()
}

// retire has the connection closed after this request, which owns it. It is
// tempting to have a timer close old connections; but one may have been handed
// out an instant before, and what is sent on it is then lost.
//
// The transport sends a request with a body as a copy of ours, so that only its
// header is seen, and that only if it is not the caller's.
func (a *attempt) retire() {
	switch {
	case !hasBody(a.request):
		a.request.Close = true
	case a.ownsHeader:
		a.request.Header.Set("Connection", "close")
		a.call.core.dialer.retiring.Store(false)
	default:
		a.call.core.dialer.retiring.Store(true) // the next one will have its own
	}
}
