package simulate

// probeReplica sends the liveness probe of rep, and sets the time of the next.
func (e *engine) probeReplica(rep *replica) {
	live := &e.s.Service.Liveness
	if rep.leaving {
		return // what is told to go is not restarted any more
	}
	e.timers.add(e.now+int64(live.Period), probe, rep.id, rep.gen)
	// A replica that warms up answers its probe: what it lacks are pools.
	if !live.SharesPool || !rep.warm {
		rep.failures = 0
		return
	}
	if rep.probing != none {
		return // the kubelet sends one at a time
	}
	i := e.newRequest(rep)
	e.requests[i].probe = true
	rep.probing = i
	rep.probeGen++
	e.timers.add(e.now+int64(live.Timeout), probeTimeout, rep.id, rep.probeGen)
	switch {
	case rep.wedged:
		e.requests[i].stage = hung
	case rep.door.places > 0:
		e.enterDoor(i)
	default:
		e.enterClient(i)
	}
}

// probePassed is when a probe has its place. It needs no upstream, so it gives
// the place back at once.
func (e *engine) probePassed(i int32) {
	rep := e.requests[i].replica
	rep.failures = 0
	e.endProbe(i)
	if rep.door.places > 0 {
		e.leave(&rep.door, e.passDoor)
	} else {
		e.leave(&rep.client, e.passClient)
	}
}

func (e *engine) endProbe(i int32) {
	rep := e.requests[i].replica
	rep.probing = none
	rep.probeGen++
	e.freeRequest(i)
}

func (e *engine) probeTimedOut(rep *replica) {
	i := rep.probing
	e.withdraw(i)
	e.endProbe(i)
	e.probeFailed(rep)
}

func (e *engine) probeFailed(rep *replica) {
	rep.failures++
	if rep.failures >= e.s.Service.Liveness.Failures && !rep.leaving {
		e.restart(rep)
	}
}
