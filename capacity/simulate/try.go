package simulate

import "slices"

// startTry lets the proxy of call i send the attempt to a replica.
func (e *engine) startTry(i int32) {
	c := &e.calls[i]
	p := e.proxies[c.proxy]
	c.try++
	c.tryGen++
	e.m.tries.add(e.now, 1)
	if limit := e.s.Proxy.MaxRequests; limit > 0 && p.active >= limit {
		e.m.triesEnded[BreakerOpen]++
		e.tryEnded(i, answer{503, BreakerOpen})
		return
	}
	h := e.pick(p)
	if h == nil {
		e.m.triesEnded[NoHealthy]++
		e.tryEnded(i, answer{503, NoHealthy})
		return
	}
	if c.try > 1 {
		c.retrying = true
		p.retrying++
	}
	r := e.newRequest(h.replica)
	c.request = r
	req := &e.requests[r]
	req.call, req.host = i, h
	h.active++
	p.active++
	if timeout := e.tryEnd(c); timeout > 0 {
		e.timers.add(timeout, tryTimeout, i, c.tryGen)
	}
	e.receive(r)
}

// tryEnd returns when the proxy stops waiting for a try that starts now; 0 is
// never.
func (e *engine) tryEnd(c *call) int64 {
	if e.s.Proxy.PerTry == 0 {
		return c.routeEnd
	}
	end := e.now + int64(e.s.Proxy.PerTry)
	if c.routeEnd > 0 {
		end = min(end, c.routeEnd)
	}
	return end
}

// detach takes request r away from its call and host: nobody waits for it any
// more.
func (e *engine) detach(r int32) {
	req := &e.requests[r]
	e.calls[req.call].request = none
	req.host.active--
	e.proxies[e.calls[req.call].proxy].active--
	req.call, req.host = none, nil
}

// endTry forgets the timers of the current try and its place in the retry budget.
func (e *engine) endTry(i int32) {
	c := &e.calls[i]
	c.tryGen++
	if c.retrying {
		c.retrying = false
		e.proxies[c.proxy].retrying--
	}
}

// tryTimedOut gives up a try from the proxy's side, and counts it against the
// replica.
func (e *engine) tryTimedOut(i int32) {
	r := e.calls[i].request
	p, h := e.proxies[e.calls[i].proxy], e.requests[r].host
	e.detach(r)
	e.abandon(r)
	e.observe(p, h, answer{504, ProxyTimeout})
	e.judge(p, h, answer{504, ProxyTimeout})
	e.m.triesEnded[ProxyTimeout]++
	e.tryEnded(i, answer{504, ProxyTimeout})
}

// replied takes the answer of a replica to a request that still has a caller.
func (e *engine) replied(r int32, a answer) {
	i, h := e.requests[r].call, e.requests[r].host
	e.detach(r)
	e.observe(e.proxies[e.calls[i].proxy], h, a)
	e.judge(e.proxies[e.calls[i].proxy], h, a)
	e.m.triesEnded[a.cause]++
	e.tryEnded(i, a)
}

// tryEnded hands the answer to the caller or tries again.
func (e *engine) tryEnded(i int32, a answer) {
	e.endTry(i)
	c := &e.calls[i]
	if !e.triesAgain(c, a) {
		e.attemptEnded(i, a)
		return
	}
	pause := e.pause(e.s.Proxy.Backoff, c.try)
	if c.routeEnd > 0 && e.now+pause >= c.routeEnd {
		e.attemptEnded(i, answer{504, ProxyTimeout})
		return
	}
	if pause == 0 {
		e.startTry(i)
		return
	}
	e.timers.add(e.now+pause, tryRetry, i, c.tryGen)
}

// triesAgain says whether the proxy retries answer a. What it refused itself, by
// its breaker or for want of a host, it does not: Envoy answers that at once.
func (e *engine) triesAgain(c *call, a answer) bool {
	p := &e.s.Proxy
	if a.cause == Served || a.cause == BreakerOpen || a.cause == NoHealthy || c.try > p.Retries || !slices.Contains(p.RetryOn, a.status) {
		return false
	}
	if p.RetryPercent == 0 {
		return true
	}
	proxy := e.proxies[c.proxy]
	allowed := max(int(p.RetryPercent/100*float64(proxy.active)), p.MinRetries)
	if proxy.retrying >= allowed {
		e.m.retriesSaved++
		return false
	}
	return true
}
