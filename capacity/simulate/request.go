package simulate

// A stage says where in a replica a request is.
type stage uint8

const (
	free     stage = iota // the index is unused
	entering              // between two others, within one event
	inDoor                // waiting for the door
	inQueue               // waiting for the client
	out                   // at the upstream
	pausing               // between two attempts of the client
	hung                  // in a wedged replica
)

// A request is one try as its replica sees it. It may outlive its call: a replica
// that ignores a cancelled context works for nobody.
type request struct {
	gen        uint32 // moves on when the request ends
	attemptGen uint32 // moves on when an attempt of the client ends
	replica    *replica
	host       *host // nil once nobody waits
	call       int32 // none once nobody waits, or for a probe
	stage      stage
	door       bool // holds a place in the door
	probe      bool
	attempt    int
	began      int64
	deadline   int64 // Client.Deadline
	queuedAt   int64
	sentAt     int64
	held       int64 // how long it held a place of the client
	prev, next int32 // among the waiters of a gate
}

func (e *engine) newRequest(rep *replica) int32 {
	var i int32
	if n := len(e.freeRequests); n > 0 {
		i = e.freeRequests[n-1]
		e.freeRequests = e.freeRequests[:n-1]
	} else {
		e.requests = append(e.requests, request{})
		i = int32(len(e.requests) - 1)
	}
	r := &e.requests[i]
	*r = request{
		gen: r.gen, attemptGen: r.attemptGen, replica: rep, call: none,
		stage: entering, began: e.now, prev: none, next: none,
	}
	return i
}

func (e *engine) freeRequest(i int32) {
	r := &e.requests[i]
	r.stage = free
	r.gen++
	r.attemptGen++
	r.replica, r.host = nil, nil
	e.freeRequests = append(e.freeRequests, i)
}

// receive takes a request in at its replica.
func (e *engine) receive(i int32) {
	r := &e.requests[i]
	rep := r.replica
	switch {
	case !rep.listening:
		e.answer(i, answer{503, Unconnected})
	case rep.wedged:
		r.stage = hung
	case rep.broken:
		e.answer(i, answer{503, BrokenReplica})
	case !rep.warm && e.s.Service.Warming != Wait:
		e.answer(i, e.s.Service.Warming.answer(WarmingReplica))
	default:
		e.enterDoor(i)
	}
}

func (e *engine) enterDoor(i int32) {
	rep := e.requests[i].replica
	switch e.enter(&rep.door, i) {
	case admitted:
		e.doorPassed(i)
	case queued:
		r := &e.requests[i]
		r.stage = inDoor
		if wait := e.s.Service.Door.Wait; wait > 0 {
			e.timers.add(e.now+int64(wait), doorWait, i, r.attemptGen)
		}
	case refused:
		e.answer(i, e.busy(rep, DoorFull))
	}
}

// busy is the answer of a full gate; while warming, requests that may wait are
// never answered 503, or waiting would be worse than refusing.
func (e *engine) busy(rep *replica, c Cause) answer {
	if !rep.warm {
		return answer{429, WarmingReplica}
	}
	return e.s.Service.Busy.answer(c)
}

// doorPassed continues with a request that got its place in the door.
func (e *engine) doorPassed(i int32) {
	r := &e.requests[i]
	r.door = true
	r.attemptGen++
	r.stage = entering
	if r.probe {
		e.probePassed(i)
		return
	}
	r.deadline = e.now + int64(e.s.Service.Client.Deadline)
	e.timers.add(r.deadline, clientDeadline, i, r.gen)
	e.enterClient(i)
}

func (e *engine) doorTimedOut(i int32) {
	rep := e.requests[i].replica
	e.remove(&rep.door, i)
	e.answer(i, e.busy(rep, DoorFull))
}

// answer ends a request. Its places must have been given back.
func (e *engine) answer(i int32, a answer) {
	r := &e.requests[i]
	rep, held := r.replica, r.door
	if r.probe {
		e.endProbe(i)
		e.probeFailed(rep)
		return
	}
	late := r.call == none
	e.m.requestEnded(a.cause, e.now-r.began, r.held, late)
	r.stage, r.door = entering, false
	if held {
		e.leave(&rep.door, e.passDoor)
	}
	if !late {
		e.replied(i, a)
	}
	e.freeRequest(i)
}

// abandon tells the replica that nobody waits for request i any more.
func (e *engine) abandon(i int32) {
	switch r := &e.requests[i]; {
	case r.stage == hung:
		// It would stay for ever; nothing is held by it.
		e.m.requestEnded(CallerTimeout, e.now-r.began, 0, true)
		e.freeRequest(i)
	case e.s.Service.StopsWhenAbandoned:
		e.withdraw(i)
		e.answer(i, answer{499, CallerTimeout})
	}
}

// withdraw takes request i out of wherever it is, and gives its place in the
// client back.
func (e *engine) withdraw(i int32) {
	r := &e.requests[i]
	switch r.stage {
	case inDoor:
		e.remove(&r.replica.door, i)
	case inQueue:
		e.remove(&r.replica.client, i)
	case out:
		e.comeBack(i)
	}
	e.requests[i].stage = entering
}
