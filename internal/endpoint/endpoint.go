package endpoint

import (
	"math"
	"time"
)

// Result is how a call went, as far as its endpoint is concerned.
type Result uint8

// The results.
const (
	Success Result = iota
	Failure        // the endpoint's: refused, reset, timed out, 5xx
	Busy           // its word that it has no room: 429, RESOURCE_EXHAUSTED
	Unknown        // not its fault, and no praise either: the caller went away
)

// Endpoint is one address of an upstream. A [Set] makes it, and guards all that
// is in it.
type Endpoint struct {
	set  *Set
	name string
	born time.Time // zero for those that the set began with

	inFlight       int
	oldest, newest *Call // without an answer, in the order they began

	typical time.Duration // of its answers, see learn
	peers   time.Duration // what is typical of the others; 0 if unknown

	penalty  float64 // calls in flight that its failures count for
	weighed  time.Time
	served   float64 // calls of the last minute or so, decaying
	servedAt time.Time

	strikes int       // evidence against it since its last success
	struck  time.Time // the first of them
	reason  Reason    // of the latest

	out       bool
	trying    bool      // a call is at it, to see whether it is well
	level     int       // how often in a row it was left out
	left      time.Time // when it was left out last
	returned  time.Time
	backAt    time.Time // not before this,
	backCalls uint64    // nor before the set has begun so many calls,
	latest    time.Time // but by then

	gone      bool // no longer a member
	failures  uint64
	lastError error
	failedAt  time.Time
}

// Name is the address that the endpoint was given.
func (e *Endpoint) Name() string { return e.name }

// Call is one call at an endpoint. The zero value is ready for [Call.Begin]; it
// must not be copied while it is in flight. It is meant to be a field of what its
// owner has anyhow.
type Call struct {
	// Patient is for a call that may take its time: no answer is no evidence.
	Patient bool

	endpoint   *Endpoint
	began      time.Time
	older      *Call
	newer      *Call
	waiting    bool // for the answer
	counted    bool // as too slow
	unfinished bool
}

// Begin counts the call as in flight at e.
func (c *Call) Begin(e *Endpoint, now time.Time) {
	s := e.set
	s.mu.Lock()
	defer s.mu.Unlock()
	c.endpoint, c.began, c.counted, c.unfinished = e, now, false, true
	s.begun++
	e.inFlight++
	e.serveLocked(now, 1)
	if c.Patient {
		return
	}
	c.waiting, c.older, c.newer = true, e.newest, nil
	if e.newest != nil {
		e.newest.newer = c
	} else {
		e.oldest = c
	}
	e.newest = c
}

// Endpoint is where the call was begun last, nil before.
func (c *Call) Endpoint() *Endpoint { return c.endpoint }

// Began is when the call was begun last.
func (c *Call) Began() time.Time { return c.began }

// Answer says how the call went, once that is known: at its response's headers, as
// a rule. It counts once; err is kept for people to see, and may be nil.
func (c *Call) Answer(now time.Time, r Result, err error) {
	if c.endpoint == nil {
		return
	}
	s := c.endpoint.set
	s.mu.Lock()
	c.answerLocked(now, r, err)
	s.unlock()
}

// Done ends the call: what it used is free again. A call without an answer by
// then has none to give.
func (c *Call) Done(now time.Time) {
	if c.endpoint == nil {
		return
	}
	s := c.endpoint.set
	s.mu.Lock()
	c.answerLocked(now, Unknown, nil)
	if c.unfinished {
		c.unfinished = false
		c.endpoint.inFlight--
	}
	s.unlock()
}

func (c *Call) answerLocked(now time.Time, r Result, err error) {
	e := c.endpoint
	if c.Patient {
		if !c.unfinished || c.counted {
			return
		}
		c.counted = true
	} else if !c.waiting {
		return
	}
	c.unlinkLocked()
	took := now.Sub(c.began)
	switch {
	case r == Failure:
		e.failures++
		e.lastError, e.failedAt = err, now
		e.weighLocked(now, 1)
		e.strikeLocked(now, Failing)
	case !c.Patient && e.slowLocked(now, took):
		if r == Success {
			e.learn(took)
		}
		if !c.counted {
			e.weighLocked(now, 1)
			e.strikeLocked(now, Slow)
		}
	case r == Success:
		e.learn(took)
		e.succeedLocked(now, c.began)
	case r == Busy:
		// It must not attract calls by saying no quickly: it weighs as much as one
		// that was served.
		e.weighLocked(now, min(1, float64(e.peers)/float64(e.set.attempt)))
	}
}

func (c *Call) unlinkLocked() {
	if !c.waiting {
		return
	}
	c.waiting = false
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		c.endpoint.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		c.endpoint.newest = c.older
	}
	c.older, c.newer = nil, nil
}

// learn moves the typical duration a tenth towards a new one: up as often as
// down, it stays at the median, and what is far away counts no more than what is
// near.
func (e *Endpoint) learn(took time.Duration) {
	took = max(took, time.Microsecond)
	switch {
	case e.typical == 0:
		e.typical = took
	case took > e.typical:
		e.typical = min(took, e.typical+e.typical/10+1)
	default:
		e.typical = max(took, e.typical-e.typical/11)
	}
}

// weighLocked adds to the penalty, after it has decayed. A failure is 1 at first,
// and over all time as much as one call that hangs for a whole Attempt.
func (e *Endpoint) weighLocked(now time.Time, by float64) {
	e.penalty = decayed(e.penalty, now.Sub(e.weighed), e.set.attempt) + by
	e.weighed = now
}

func (e *Endpoint) serveLocked(now time.Time, by float64) {
	e.served = decayed(e.served, now.Sub(e.servedAt), time.Minute) + by
	e.servedAt = now
}

// decayed is what is left of v after so long: nothing of nothing, which is the
// usual case and needs no exponential.
func decayed(v float64, after, constant time.Duration) float64 {
	if v == 0 || after <= 0 {
		return v
	}
	if v *= math.Exp(-float64(after) / float64(constant)); v < 1e-3 {
		return 0
	}
	return v
}

// loadLocked is what a further call has to compete with.
func (e *Endpoint) loadLocked(now time.Time) float64 {
	if e.set.observing {
		return float64(e.inFlight + 1)
	}
	load := float64(e.inFlight+1) + decayed(e.penalty, now.Sub(e.weighed), e.set.attempt)
	return load / e.startedLocked(now)
}

// startedLocked is the share that a new endpoint has reached: a tenth at first,
// all of it after SlowStart.
func (e *Endpoint) startedLocked(now time.Time) float64 {
	since := e.born
	if e.returned.After(since) {
		since = e.returned
	}
	if since.IsZero() {
		return 1
	}
	return min(1, max(0.1, float64(now.Sub(since))/float64(e.set.slowStart)))
}
