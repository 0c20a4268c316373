package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// An engine is one run.
type engine struct {
	s      *Scenario
	now    int64 // nanoseconds since the start
	end    int64
	events int64
	timers timers
	room   int // for timers
	m      *meter
	broken error // the first conservation law that did not hold

	// Each purpose draws from its own stream, so that two scenarios that differ in
	// one place still see the same arrivals and the same latencies.
	arriving, serving, picking, jitter *rand.Rand

	arrivals     arrivals
	callerBudget budget
	clientBudget budget

	calls     []call
	freeCalls []int32
	liveCalls int
	begun     int64
	ended     int64

	requests     []request
	freeRequests []int32

	proxies  []*proxy
	replicas []*replica
	rollout  rollout

	memberships []membership // that proxies will see, in order of time

	upstream         Upstream
	latency          sampler
	upstreamInFlight int

	passDoor, passClient func(int32) // made once: a method value allocates
}

// newEngine returns a run of s, which must be resolved, at its start.
func newEngine(s *Scenario, seed uint64) *engine {
	stream := func(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }
	e := &engine{
		s: s, end: int64(s.Settle + s.Duration), room: maxTimers,
		arriving: stream(1), serving: stream(2), picking: stream(3), jitter: stream(4),
		arrivals:     newArrivals(s.Callers),
		callerBudget: newBudget(float64(s.Callers.RetryShare)),
		clientBudget: newBudget(float64(s.Service.Client.RetryShare)),
		upstream:     s.Upstream,
		latency:      s.Upstream.Latency.sampler(),
	}
	// Up to 240 ns more, so that all steps of the series are equally long.
	e.end += (points - e.end%points) % points
	e.m = newMeter(e.end / points)
	e.passDoor, e.passClient = e.doorPassed, e.clientPassed
	e.addProxies()
	e.addReplicas()
	e.timers.add(int64(s.Settle), beginning, none, 0)
	for i, ev := range s.Events {
		e.timers.add(int64(ev.At), scripted, int32(i), 0)
	}
	e.scheduleArrival()
	return e
}

func (e *engine) addProxies() {
	levels := 1
	if e.s.Proxy.ZoneFirst {
		levels = 2
	}
	for i := range e.s.Callers.Count {
		p := &proxy{id: int32(i), zone: e.zoneOf(i), levels: make([]level, levels), turn: e.picking.IntN(1 << 16)}
		e.proxies = append(e.proxies, p)
		if o := e.s.Proxy.Outlier; o != nil {
			e.timers.add(e.jitter.Int64N(int64(o.Interval)), sweep, p.id, 0)
		}
		if c := e.s.Proxy.HealthCheck; c.Interval > 0 {
			e.timers.add(e.jitter.Int64N(int64(c.Interval)), healthCheck, p.id, 0)
		}
	}
}

// zoneOf places caller i so that the zones' parts of all callers come as near to
// ZoneShares as whole callers can.
func (e *engine) zoneOf(i int) int {
	shares := e.s.Callers.ZoneShares
	if len(shares) == 0 {
		return i % e.s.Service.Zones
	}
	total := Share(0)
	for _, share := range shares {
		total += share
	}
	at := (Share(i) + 0.5) / Share(e.s.Callers.Count) * total
	for zone, share := range shares {
		if at < share {
			return zone
		}
		at -= share
	}
	return len(shares) - 1
}

// addReplicas creates those that are up when the run starts.
func (e *engine) addReplicas() {
	for range e.s.Service.Replicas {
		rep := e.addReplica()
		e.m.ready.add(0, 1)
		rep.listening, rep.warm, rep.ready = true, true, true
		if period := e.s.Service.Liveness.Period; period > 0 {
			e.timers.add(e.jitter.Int64N(int64(period)), probe, rep.id, rep.gen)
		}
		for _, p := range e.proxies {
			p.add(rep, false)
		}
	}
	for _, p := range e.proxies {
		e.refresh(p)
	}
}

// fail records that an invariant of the engine itself does not hold.
func (e *engine) fail(format string, args ...any) {
	if e.broken == nil {
		e.broken = fmt.Errorf("simulate: internal: at %d ns: %s", e.now, fmt.Sprintf(format, args...))
	}
}

// overgrown says that the run does not fit into memory. A timeout stays set until
// it is due, though what it was for has ended, so that they go with the rate of
// tries times the longest of their timeouts.
func (e *engine) overgrown() error {
	if e.timers.size() <= e.room {
		return nil
	}
	return fmt.Errorf("simulate: over %d timers are set after %v; a lower rate, fewer tries or shorter timeouts and deadlines would do", e.room, time.Duration(e.now))
}

// runUntil takes the events before time t, which must not be over the end, but no
// more than most. It returns true when it has reached t.
func (e *engine) runUntil(t int64, most int) bool {
	for range most {
		next, ok := e.timers.next(t)
		if !ok {
			e.now = t
			return true
		}
		e.now = next.at
		e.take(next)
	}
	return false
}

// take does what is due.
func (e *engine) take(t timer) {
	switch t.kind {
	case arrival:
		e.arrive()
	case scripted:
		e.play(&e.s.Events[t.id])
	case beginning:
		e.m.begin(e.now)
		for _, p := range e.proxies {
			e.m.hosts(p.ejected, len(p.hosts))
		}
	case reconcile:
		e.reconcile()
	case sweep:
		e.sweepProxy(e.proxies[t.id])
	case healthCheck:
		e.checkHosts(e.proxies[t.id])
	case healthTimeout:
		e.checksTimedOut(e.proxies[t.id])
	case endpoints:
		e.pushEndpoints()
	case callTimeout, callRetry, tryTimeout, tryRetry:
		e.callTimer(t)
		return
	case probe, probeTimeout, started, warmed, stopped, killed:
		e.replicaTimer(t)
		return
	case answered, clientDeadline, attemptTimeout, attemptRetry, doorWait, clientWait:
		e.requestTimer(t)
		return
	}
	e.events++
}

// callTimer serves the timers of calls. Like the two below it drops a timer whose
// entity has moved on, and does not count it as an event.
func (e *engine) callTimer(t timer) {
	gen := e.calls[t.id].gen
	if t.kind == tryTimeout || t.kind == tryRetry {
		gen = e.calls[t.id].tryGen
	}
	if gen != t.gen {
		return
	}
	e.events++
	switch t.kind {
	case callTimeout:
		e.attemptTimedOut(t.id)
	case callRetry:
		e.startAttempt(t.id)
	case tryTimeout:
		e.tryTimedOut(t.id)
	case tryRetry:
		e.startTry(t.id)
	}
}

func (e *engine) replicaTimer(t timer) {
	rep := e.replicas[t.id]
	gen := rep.gen
	if t.kind == probeTimeout {
		gen = rep.probeGen
	}
	if gen != t.gen {
		return
	}
	e.events++
	switch t.kind {
	case probe:
		e.probeReplica(rep)
	case probeTimeout:
		e.probeTimedOut(rep)
	case started:
		e.start(rep)
	case warmed:
		e.warmUp(rep)
	case stopped:
		rep.listening = false
	case killed:
		e.endProcess(rep)
		rep.gone = true
	}
}

func (e *engine) requestTimer(t timer) {
	r := &e.requests[t.id]
	gen := r.attemptGen
	if t.kind == clientDeadline {
		gen = r.gen
	}
	if gen != t.gen {
		return
	}
	e.events++
	switch t.kind {
	case answered:
		e.comeBack(t.id)
		e.attemptEnd(t.id, served)
	case clientDeadline:
		e.deadlinePassed(t.id)
	case attemptTimeout:
		e.comeBack(t.id)
		e.attemptEnd(t.id, answer{504, ClientTimeout})
	case attemptRetry:
		e.enterClient(t.id)
	case doorWait:
		e.doorTimedOut(t.id)
	case clientWait:
		e.clientTimedOut(t.id)
	}
}
