package simulate

import "time"

// none is the index of no entity.
const none = -1

// A call is one thing a caller wants done: an order. It is sent in attempts; the
// proxy sends each attempt in tries; at most one try is out at a time.
type call struct {
	gen      uint32 // of the attempt: moves on when it ends
	tryGen   uint32 // of the try
	proxy    int32
	request  int32 // the try that is out, or none
	attempt  int
	try      int
	live     bool
	retrying bool  // counted in proxy.retrying
	began    int64 // when the call came
	end      int64 // when its Deadline runs out; 0 is never
	routeEnd int64 // when the proxy's Timeout runs out; 0 is never
}

func (e *engine) arrive() {
	e.scheduleArrival()
	i := e.newCall()
	c := &e.calls[i]
	c.proxy = int32(e.arriving.IntN(len(e.proxies)))
	c.began = e.now
	if e.s.Callers.Deadline > 0 {
		c.end = e.now + int64(e.s.Callers.Deadline)
	}
	e.callerBudget.earn()
	e.m.calls.add(e.now, 1)
	e.begun++
	e.startAttempt(i)
}

func (e *engine) scheduleArrival() {
	if at := e.arrivals.after(e.now, e.arriving); at < e.end {
		e.timers.add(at, arrival, none, 0)
	}
}

// newCall returns the index of a fresh call. Generations are kept across uses of
// an index, so that no old timer can hit a new call.
func (e *engine) newCall() int32 {
	e.liveCalls++
	if n := len(e.freeCalls); n > 0 {
		i := e.freeCalls[n-1]
		e.freeCalls = e.freeCalls[:n-1]
		c := &e.calls[i]
		*c = call{gen: c.gen, tryGen: c.tryGen, request: none, live: true}
		return i
	}
	e.calls = append(e.calls, call{request: none, live: true})
	return int32(len(e.calls) - 1)
}

func (e *engine) startAttempt(i int32) {
	c := &e.calls[i]
	c.attempt++
	c.try = 0
	c.gen++
	timeout := e.now + int64(e.s.Callers.Timeout)
	if c.end > 0 {
		timeout = min(timeout, c.end)
	}
	e.timers.add(timeout, callTimeout, i, c.gen)
	c.routeEnd = 0
	if e.s.Proxy.Timeout > 0 {
		c.routeEnd = e.now + int64(e.s.Proxy.Timeout)
	}
	e.startTry(i)
}

// attemptTimedOut gives up an attempt from the caller's side. The proxy sees that
// its client is gone, which says nothing about the replica; to a client that knows its
// endpoints it does.
func (e *engine) attemptTimedOut(i int32) {
	if r := e.calls[i].request; r != none {
		h := e.requests[r].host
		e.detach(r)
		e.abandon(r)
		e.judge(e.proxies[e.calls[i].proxy], h, answer{504, CallerTimeout})
		e.m.triesEnded[CallerTimeout]++
	}
	e.endTry(i)
	e.attemptEnded(i, answer{504, CallerTimeout})
}

// attemptEnded finishes the call or tries it again.
func (e *engine) attemptEnded(i int32, a answer) {
	c := &e.calls[i]
	c.gen++
	callers := &e.s.Callers
	again := a.cause != Served && c.attempt < callers.Attempts &&
		(a.status != 429 || callers.RetryBusy) &&
		(c.end == 0 || e.now < c.end)
	if !again || !e.callerBudget.spend() {
		e.finish(i, a)
		return
	}
	pause := e.pause(callers.Backoff, c.attempt)
	if pause == 0 {
		e.startAttempt(i)
		return
	}
	if c.end > 0 && e.now+pause >= c.end {
		e.finish(i, a)
		return
	}
	e.timers.add(e.now+pause, callRetry, i, c.gen)
}

// finish ends the call, once.
func (e *engine) finish(i int32, a answer) {
	c := &e.calls[i]
	if !c.live {
		e.fail("call %d ended twice", i)
		return
	}
	e.m.callEnded(e.now, a.cause, e.now-c.began)
	e.ended++
	c.live = false
	c.gen++
	c.tryGen++
	e.freeCalls = append(e.freeCalls, i)
	e.liveCalls--
}

// maxBackoffShift bounds the doubling of pauses: Envoy's longest is ten times the
// base, 2^4 is the next power.
const maxBackoffShift = 4

// pause draws the pause before a retry: full jitter up to base·2^(n−1).
func (e *engine) pause(base time.Duration, n int) int64 {
	if base == 0 {
		return 0
	}
	longest := int64(base) << min(n-1, maxBackoffShift)
	return e.jitter.Int64N(longest + 1)
}
