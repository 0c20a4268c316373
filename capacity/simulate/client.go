package simulate

// enterClient starts an attempt of request i towards the upstream.
func (e *engine) enterClient(i int32) {
	r := &e.requests[i]
	r.attempt++
	r.attemptGen++
	if r.attempt == 1 && !r.probe {
		e.clientBudget.earn()
	}
	switch e.enter(&r.replica.client, i) {
	case admitted:
		e.clientPassed(i)
	case queued:
		r.stage = inQueue
		if wait := e.s.Service.Client.Pool.Wait; wait > 0 {
			e.timers.add(e.now+int64(wait), clientWait, i, r.attemptGen)
		}
	case refused:
		e.answer(i, e.busy(r.replica, PoolFull))
	}
}

func (e *engine) clientTimedOut(i int32) {
	rep := e.requests[i].replica
	e.remove(&rep.client, i)
	e.answer(i, e.busy(rep, PoolFull))
}

// clientPassed continues with a request that has its place.
func (e *engine) clientPassed(i int32) {
	r := &e.requests[i]
	r.attemptGen++
	if r.probe {
		e.probePassed(i)
		return
	}
	e.send(i)
}

// send puts request i on the wire.
func (e *engine) send(i int32) {
	r := &e.requests[i]
	e.m.attempts++
	if e.upstream.Limit > 0 && e.upstreamInFlight >= e.upstream.Limit {
		r.stage = entering
		e.leave(&r.replica.client, e.passClient)
		e.attemptEnd(i, e.upstream.Refusal.answer(UpstreamRefused))
		return
	}
	r.stage, r.sentAt = out, e.now
	e.upstreamInFlight++
	e.m.inFlight.add(e.now, 1)
	if e.upstream.Errors > 0 && e.serving.Float64() < float64(e.upstream.Errors) {
		e.comeBack(i)
		e.attemptEnd(i, answer{502, UpstreamError})
		return
	}
	// A latency is drawn even for what will hang: then two scenarios that differ in
	// Hang alone see the same latencies.
	after := int64(float64(e.latency.draw(e.serving)) * r.replica.slow)
	if e.upstream.Hang == 0 || e.serving.Float64() >= float64(e.upstream.Hang) {
		e.timers.add(e.now+after, answered, i, r.attemptGen)
	}
	if limit := e.s.Service.Client.Attempt; limit > 0 && e.now+int64(limit) < r.deadline {
		e.timers.add(e.now+int64(limit), attemptTimeout, i, r.attemptGen)
	}
}

// comeBack takes a request off the wire and gives its place back.
func (e *engine) comeBack(i int32) {
	r := &e.requests[i]
	r.held += e.now - r.sentAt
	r.stage = entering
	r.attemptGen++
	e.upstreamInFlight--
	e.m.inFlight.add(e.now, -1)
	e.leave(&r.replica.client, e.passClient)
}

// attemptEnd retries request i after an attempt that brought a, or answers.
func (e *engine) attemptEnd(i int32, a answer) {
	r := &e.requests[i]
	client := &e.s.Service.Client
	if a.cause == Served || a.status == 429 || r.attempt >= client.Attempts || !e.clientBudget.spend() {
		e.answer(i, a)
		return
	}
	pause := e.pause(client.Backoff, r.attempt)
	if e.now+pause >= r.deadline {
		e.answer(i, a)
		return
	}
	if pause == 0 {
		e.enterClient(i)
		return
	}
	r.stage = pausing
	e.timers.add(e.now+pause, attemptRetry, i, r.attemptGen)
}

// deadlinePassed ends a request whose client has run out of time, wherever it is.
func (e *engine) deadlinePassed(i int32) {
	e.withdraw(i)
	e.answer(i, answer{504, ClientTimeout})
}
