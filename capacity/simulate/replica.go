package simulate

import "slices"

// A replica is one process of the service.
type replica struct {
	id      int32
	gen     uint32 // moves on when the process ends
	zone    int
	fresh   bool // made by the rollout that runs or ran last
	leaving bool // told to go
	gone    bool

	listening bool // the process takes requests
	warm      bool
	ready     bool
	readyAt   int64 // since when

	wedged, broken bool
	slow           float64 // multiplies its latencies

	door, client gate
	failures     int    // of the liveness probe, in a row
	probing      int32  // the probe that is out, or none
	probeGen     uint32 // moves on when it ends
}

// addReplica creates a replica whose process does not run yet.
func (e *engine) addReplica() *replica {
	service := &e.s.Service
	rep := &replica{
		id: int32(len(e.replicas)), zone: len(e.replicas) % service.Zones,
		door: newGate(service.Door), client: newGate(service.Client.Pool), probing: none, slow: 1,
	}
	e.replicas = append(e.replicas, rep)
	return rep
}

// start is when the process begins to listen.
func (e *engine) start(rep *replica) {
	service := &e.s.Service
	rep.listening = true
	rep.door.closed = service.Door.Places > 0
	rep.client.closed = !rep.door.closed
	if service.Liveness.Period > 0 {
		phase := e.jitter.Int64N(int64(service.Liveness.Period))
		e.timers.add(e.now+phase, probe, rep.id, rep.gen)
	}
	if service.WarmUp > 0 {
		e.timers.add(e.now+int64(service.WarmUp), warmed, rep.id, rep.gen)
		if !service.Gated {
			e.setReady(rep, true)
		}
		return
	}
	e.warmUp(rep)
}

// warmUp is when its pools are full.
func (e *engine) warmUp(rep *replica) {
	rep.warm = true
	rep.door.closed, rep.client.closed = false, false
	e.pump(&rep.door, e.passDoor)
	e.pump(&rep.client, e.passClient)
	e.setReady(rep, true)
}

// A membership is a change that proxies have not seen yet.
type membership struct {
	at      int64
	replica *replica
	ready   bool
}

// setReady tells the controllers at once, which watch the same server that the
// probe's result goes to, and the proxies after EndpointDelay.
func (e *engine) setReady(rep *replica, ready bool) {
	if rep.ready == ready || ready && rep.leaving {
		return
	}
	rep.ready, rep.readyAt = ready, e.now
	change := -1.0
	if ready {
		change = 1
	}
	e.m.ready.add(e.now, change)
	at := e.now + int64(e.s.Service.EndpointDelay)
	e.memberships = append(e.memberships, membership{at, rep, ready})
	e.timers.add(at, endpoints, none, 0)
	if ready && e.rollout.minReady > 0 {
		e.timers.add(e.now+e.rollout.minReady, reconcile, none, 0)
		return
	}
	// Not now: the controller may take this very replica away, and whoever called
	// is not done with it.
	e.timers.add(e.now, reconcile, none, 0)
}

// pushEndpoints shows proxies all changes that are due, in one update: a replica
// that comes and one that goes for it are never counted together.
func (e *engine) pushEndpoints() {
	due := 0
	for due < len(e.memberships) && e.memberships[due].at <= e.now {
		due++
	}
	if due == 0 {
		return
	}
	for _, p := range e.proxies {
		for _, change := range e.memberships[:due] {
			if change.ready {
				p.add(change.replica, e.s.Proxy.HealthCheck.Interval > 0 && !e.passes(change.replica))
			} else {
				e.forget(p, change.replica)
			}
		}
		e.readmitTooMany(p)
		e.refresh(p)
	}
	e.memberships = slices.Delete(e.memberships, 0, due)
}

// terminate tells a replica to go.
func (e *engine) terminate(rep *replica) {
	rep.leaving = true
	e.setReady(rep, false)
	service := &e.s.Service
	e.timers.add(e.now+int64(service.PreStop), stopped, rep.id, rep.gen)
	e.timers.add(e.now+int64(service.Grace), killed, rep.id, rep.gen)
}

// restart ends the process; the kubelet starts it again.
func (e *engine) restart(rep *replica) {
	e.m.restarts.add(e.now, 1)
	e.endProcess(rep)
	e.setReady(rep, false)
	e.timers.add(e.now+int64(e.s.Service.Liveness.Restart), started, rep.id, rep.gen)
}

// endProcess cuts every request in the replica. Their callers see the connection
// go.
func (e *engine) endProcess(rep *replica) {
	rep.gen++
	rep.listening, rep.warm, rep.wedged = false, false, false
	rep.failures = 0
	rep.door.closed, rep.client.closed = true, true
	// A scan of all requests, because it is rare; a list for each replica would be
	// kept up to date by every request.
	for i := range int32(len(e.requests)) {
		r := &e.requests[i]
		if r.replica != rep || r.stage == free || r.stage == entering {
			continue
		}
		if r.probe {
			e.withdraw(i)
			e.endProbe(i)
			continue
		}
		e.withdraw(i)
		e.answer(i, answer{503, Unconnected})
	}
}
