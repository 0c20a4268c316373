package httpclient

import (
	"context"
	"net/http/httptrace"
	"time"
)

// traceKey is the key under which package httptrace keeps a trace in a context.
// It is not exported, and is asked for here with a context that listens. It is
// nil if the package should ever keep traces in another way.
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
	switch key {
	case traceKey:
		return &a.trace
	case attemptKey{}:
		return a
	}
	return a.Context.Value(key)
}

// Deadline implements context.Context, for wrappers that look at it.
func (a *attempt) Deadline() (time.Time, bool) {
	bound := a.call.start.Add(a.call.plan.Deadline)
	open := a.call.stream || a.call.core.limits.observing.Load()
	if d, ok := a.Context.Deadline(); ok && (open || d.Before(bound)) {
		return d, true
	}
	if open {
		return time.Time{}, false
	}
	return bound, true
}

// watch sets the trace: the user's, with our look at each connection.
func (a *attempt) watch() {
	if a.users = httptrace.ContextClientTrace(a.call.ctx); a.users != nil {
		a.trace = *a.users
	}
	a.trace.GotConn = a.gotConn
	if traceKey == nil {
		a.Context = httptrace.WithClientTrace(a.Context, &httptrace.ClientTrace{GotConn: a.gotConn})
		a.users = nil // called by that one
	}
}

// gotConn runs each time the transport has a connection for this attempt, on the
// goroutine that called it: the caller's, or one of a wrapper.
func (a *attempt) gotConn(info httptrace.GotConnInfo) {
	l := a.call
	now := l.now()
	a.mu.Lock()
	a.connections++
	on := a.on
	var waited time.Duration
	if !info.Reused || !info.WasIdle { // else it was there at once
		waited = now - a.connected
		a.connected = now
	}
	nth := a.connections
	a.mu.Unlock()
	l.core.telemetry.ConnectWait(waited)
	if nth > 1 {
		a.silentRetry(nth-1, on)
	}
	if a.users != nil && a.users.GotConn != nil {
		a.users.GotConn(info)
	}
}
