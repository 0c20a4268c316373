package endpoint

import "time"

// Reason is why an endpoint is left out.
type Reason uint8

// The reasons.
const (
	Failing Reason = iota // it failed twice with no success between
	Slow                  // its calls take ten times what its peers' do
	Reasons               // how many there are
)

// String is the reason as a label.
func (r Reason) String() string { return [...]string{"failing", "slow"}[r] }

const (
	strikesOut  = 2                      // evidence in a row that leaves an endpoint out
	slowTimes   = 10                     // as long as its peers' median,
	slowLeast   = 100 * time.Millisecond // and so long, is evidence
	firstPause  = time.Second
	longPause   = 30 * time.Second
	trickle     = 50          // calls of all for one at an endpoint that is left out
	mostTrickle = 400         // after it has failed again and again
	latestBack  = time.Minute // however few calls there are
)

// slowLocked says whether so long without an answer is evidence. It is none
// without peers.
func (e *Endpoint) slowLocked(now time.Time, took time.Duration) bool {
	if took <= slowLeast {
		return false
	}
	e.set.comparePeersLocked(now)
	return e.peers > 0 && took > slowTimes*e.peers
}

// waitingLocked takes what hangs as evidence, before it has failed.
func (e *Endpoint) waitingLocked(now time.Time) {
	for c := e.oldest; c != nil; c = c.newer {
		if c.counted {
			continue
		}
		if !e.slowLocked(now, now.Sub(c.began)) {
			return // nor are those that began later
		}
		c.counted = true
		e.weighLocked(now, 1)
		e.strikeLocked(now, Slow)
	}
}

func (e *Endpoint) strikeLocked(now time.Time, why Reason) {
	if e.strikes == 0 {
		e.struck = now
	}
	e.strikes++
	e.reason = why
	if e.out {
		if e.trying { // else it was under way when the endpoint was left out
			e.pauseLocked(now)
		}
		return
	}
	e.judgeLocked(now)
}

// judgeLocked leaves the endpoint out if there is reason to, others do better, and
// enough are left.
func (e *Endpoint) judgeLocked(now time.Time) {
	s := e.set
	if e.out || e.gone || e.strikes < strikesOut || (s.out+1)*2 > len(s.all) || !s.othersSucceedLocked(e) {
		return
	}
	if now.Sub(e.returned) > latestBack {
		e.level = 0
	}
	e.out = true
	s.out++
	if s.observing {
		s.observed[e.reason]++
	} else {
		s.applied[e.reason]++
	}
	e.pauseLocked(now)
	s.notifyLocked(e, true)
}

// pauseLocked sets when a call may try the endpoint again.
func (e *Endpoint) pauseLocked(now time.Time) {
	e.left, e.trying = now, false
	e.level++
	growth := min(e.level-1, 10)
	pause := min(firstPause<<growth, longPause)
	e.backAt = now.Add(pause + time.Duration(e.set.random(int(pause/5)+1)))
	e.backCalls = e.set.begun + uint64(min(trickle<<growth, mostTrickle))
	e.latest = now.Add(latestBack)
}

// dueLocked says whether the endpoint is to be tried again.
func (e *Endpoint) dueLocked(now time.Time) bool {
	return !now.Before(e.latest) || !now.Before(e.backAt) && e.set.begun >= e.backCalls
}

// tryLocked gives the endpoint its chance, and no other before another pause.
func (e *Endpoint) tryLocked(now time.Time) {
	pause := max(e.set.attempt, firstPause)
	e.backAt, e.backCalls, e.latest = now.Add(pause), e.set.begun+trickle, now.Add(latestBack)
	e.left, e.trying = now, true
}

// badLocked says whether there is enough against the endpoint to leave it out,
// whether or not it is.
func (e *Endpoint) badLocked() bool { return e.out || e.strikes >= strikesOut }

// succeedLocked clears an endpoint. One that is left out comes back only by a call
// that began since: what was under way before says nothing new.
func (e *Endpoint) succeedLocked(now, began time.Time) {
	s := e.set
	if s.last.endpoint != e {
		s.before, s.last.endpoint = s.last, e
	}
	s.last.at = now
	if e.out && began.Before(e.left) {
		return
	}
	e.strikes = 0
	if e.out {
		e.out, e.trying = false, false
		e.returned = now
		e.penalty = 0
		s.out--
		s.notifyLocked(e, false)
	}
}

// othersSucceedLocked says whether another endpoint has succeeded since the first
// evidence against e: if all fail alike, it is no worse than they are.
func (s *Set) othersSucceedLocked(e *Endpoint) bool {
	other := s.last
	if other.endpoint == e {
		other = s.before
	}
	return other.endpoint != nil && !other.at.Before(e.struck)
}
