package grpcclient

import (
	"context"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// attempt is one request sent. It is the context that grpc-go works with, so that
// the picker finds it there and it costs one allocation.
//
// It is tempting to keep finished attempts in a pool. But goroutines of grpc-go may
// read a context after its call has returned.
type attempt struct {
	context.Context
	core    *core
	entered time.Time // has its place since
	due     *bound    // what ends it, if its caller does not
	cold    bool      // no connection was ready then
	pinned  *link     // it must go on this one

	link     atomic.Pointer[link] // it was last given
	reads    atomic.Uint64        // of the link, then
	marks    atomic.Uint32
	out      atomic.Int32 // on links
	wait     atomic.Int64 // for the link, in nanoseconds
	pushback atomic.Int64 // 1 + milliseconds; 0 is none, and below it "no"
}

// What is known of an attempt.
const (
	markBlocked  = 1 << iota // a picker had nothing for it
	markPicked               // it has a link, and waits for a stream there or has one
	markOver                 // that was at the server's limit
	markSent                 // it has had a stream
	markReceived             // something came back
)

type attemptKey struct{}

// Value implements context.Context.
func (a *attempt) Value(key any) any {
	if _, ok := key.(attemptKey); ok {
		return a
	}
	return a.Context.Value(key)
}

func (a *attempt) mark(m uint32)     { a.marks.Or(m) }
func (a *attempt) has(m uint32) bool { return a.marks.Load()&m != 0 }

// blocked is told by a picker that it has nothing. Calls that are not of this
// package, such as those that watch a server's health, are nil attempts.
func (a *attempt) blocked() {
	if a != nil {
		a.mark(markBlocked)
	}
}

// picked is told by a picker of the link. It may be more than one, if the first was
// gone; the last counts.
func (a *attempt) picked(l *link, over bool) {
	if a == nil {
		return
	}
	a.link.Store(l)
	a.reads.Store(l.reads.Load())
	if a.cold || a.has(markBlocked) { // the others have not waited, and need no clock
		a.wait.Store(int64(time.Since(a.entered)))
	}
	if over {
		a.mark(markOver)
	}
	a.mark(markPicked)
}

// waited is how long the attempt waited for its connection.
func (a *attempt) waited() time.Duration { return time.Duration(a.wait.Load()) }

// stage is how far the attempt came. Between its link and its stream are, in this
// order, the credentials of the call and the server's limit; which of the two had it
// wait is known from whether there was room.
func (a *attempt) stage() Stage {
	switch {
	case a.has(markSent):
		return StageServer
	case !a.core.balancing.own && a.cold:
		return StageConnect
	case !a.core.balancing.own:
		return StageSent
	case a.has(markOver), a.has(markPicked) && a.link.Load().full():
		return StageQuota
	case a.has(markPicked):
		return StageCredentials
	case a.core.pool.named.Load():
		return StageConnect
	}
	return StageResolve
}

// unsent says that nothing of the attempt can have reached the server. One that no
// picker has seen may have: an interceptor of the user's has sent it on with another
// context.
func (a *attempt) unsent() bool {
	seen := a.has(markBlocked|markPicked) || !a.core.pool.named.Load()
	return a.core.balancing.own && seen && !a.has(markSent)
}

// ticket is a call on a link, from pick to end. Each has its callback for good, so
// that a call needs none of its own.
type ticket struct {
	pool    *pool
	link    *link
	attempt *attempt
	done    func(balancer.DoneInfo)
}

func (p *pool) ticket(l *link, a *attempt) *ticket {
	t, _ := p.tickets.Get().(*ticket)
	if t == nil {
		t = &ticket{pool: p}
		t.done = t.end
	}
	t.link, t.attempt = l, a
	if a != nil {
		a.out.Add(1)
	}
	return t
}

// end is called once by grpc-go, when the call is over or the link was gone.
func (t *ticket) end(info balancer.DoneInfo) {
	l, a := t.link, t.attempt
	t.link, t.attempt = nil, nil
	if a == nil || a.out.Add(-1) >= 0 {
		l.streams.Add(-1)
	}
	if info.BytesReceived && !l.used.Load() {
		l.used.Store(true)
	}
	if a != nil {
		a.ended(info)
	}
	t.pool.tickets.Put(t)
}

// abandon takes an attempt that panicked off its link. A codec's panic comes out of
// grpc-go, which then never says that the call is over.
func (a *attempt) abandon() {
	if n := a.out.Swap(math.MinInt32 / 2); n > 0 {
		a.link.Load().streams.Add(-int64(n))
	}
}

// ended is told what grpc-go knows.
func (a *attempt) ended(info balancer.DoneInfo) {
	switch {
	case info.BytesSent:
		a.mark(markSent)
	case info.Err == nil || status.Code(info.Err) == codes.Unavailable: // its link was gone: it waits for another
		a.marks.And(^uint32(markPicked | markOver))
		a.mark(markBlocked)
	}
	if info.BytesReceived {
		a.mark(markReceived)
	}
	if words := info.Trailer.Get(pushbackKey); len(words) > 0 {
		a.pushback.Store(parsePushback(words))
	}
}

// pushbackKey is gRFC A6's: a delay in milliseconds, or anything else for "no".
const pushbackKey = "grpc-retry-pushback-ms"

func parsePushback(words []string) int64 {
	ms, err := strconv.ParseInt(words[0], 10, 32)
	if err != nil || ms < 0 || len(words) > 1 {
		return -1
	}
	return ms + 1
}
