package endpoint

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Options is how a [Set] judges. The zero value is good.
type Options struct {
	// Attempt is what a failure weighs: as much as a call that hangs for so long.
	// The default is 1 s.
	Attempt time.Duration

	// SlowStart is how long an endpoint that is new, or back, takes to get its full
	// share. The default is 10 s. Those that a set begins with have theirs at once.
	SlowStart time.Duration

	// Notify, if set, hears of each endpoint that is left out or comes back, without
	// any lock held, on the goroutine of the call that gave the reason.
	Notify func(Change)

	// Rand returns a number in [0, n). The default is that of math/rand/v2.
	Rand func(n int) int
}

// Change is an endpoint that was left out, or came back.
type Change struct {
	Endpoint string
	Out      bool
	Observed bool   // and got its calls all the same
	Reason   Reason // that it was left out for
	Err      error  // its last one, nil for none
}

// Set is the endpoints of one upstream. Make one with [NewSet].
type Set struct {
	attempt, slowStart time.Duration
	notify             func(Change)
	random             func(int) int

	mu                sync.Mutex
	all               []*Endpoint
	observing         bool
	begun             uint64
	out               int
	last, before      success // of two endpoints
	compared          time.Time
	applied, observed [Reasons]uint64
	changes           []Change // to notify of
}

type success struct {
	endpoint *Endpoint
	at       time.Time
}

// NewSet returns a set without endpoints.
func NewSet(o Options) *Set {
	s := &Set{attempt: o.Attempt, slowStart: o.SlowStart, notify: o.Notify, random: o.Rand}
	if s.attempt <= 0 {
		s.attempt = time.Second
	}
	if s.slowStart <= 0 {
		s.slowStart = 10 * time.Second
	}
	if s.random == nil {
		s.random = rand.IntN
	}
	return s
}

// Observe switches observe mode: in it who would be left out is counted and told,
// and choices are by calls in flight alone.
func (s *Set) Observe(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observing = on
}

// Update replaces the members by those named, and returns them in that order,
// without duplicates. Those that stay keep what is known of them. No name at all
// changes nothing: what works is kept.
func (s *Set) Update(now time.Time, names []string) []*Endpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(names) == 0 {
		return slices.Clone(s.all)
	}
	known := make(map[string]*Endpoint, len(s.all))
	for _, e := range s.all {
		known[e.name] = e
		e.gone = true
	}
	first := len(s.all) == 0
	all := make([]*Endpoint, 0, len(names))
	for _, name := range names {
		e := known[name]
		switch {
		case e == nil:
			e = &Endpoint{set: s, name: name}
			if !first {
				e.born = now
			}
			known[name] = e
		case !e.gone:
			continue // named twice
		}
		e.gone = false
		all = append(all, e)
	}
	s.all, s.out, s.compared = all, 0, time.Time{}
	for _, e := range known {
		if e.gone {
			e.out = false
		}
	}
	for _, e := range all {
		if e.out && (s.out+1)*2 > len(all) {
			e.out = false // there are too few others now
		} else if e.out {
			s.out++
		}
	}
	return slices.Clone(all)
}

// Pick returns the endpoint for a call, of those that can take one; nil if there
// are none. A retry names the endpoint to avoid, and gets another if there is one.
func (s *Set) Pick(now time.Time, from []*Endpoint, avoid *Endpoint) *Endpoint {
	switch len(from) {
	case 0:
		return nil
	case 1:
		return from[0]
	}
	s.mu.Lock()
	defer s.unlock()
	if avoid == nil { // a retry is not the one to try things with
		if e := s.dueLocked(now, from); e != nil {
			e.tryLocked(now)
			return e
		}
	}
	e := s.drawLocked(now, from, avoid, nil)
	if other := s.drawLocked(now, from, avoid, e); other != e {
		load, others := e.loadLocked(now), other.loadLocked(now)
		if others < load || others == load && s.random(2) == 0 {
			e = other
		}
	}
	if s.out > 0 && e.badLocked() && !slices.ContainsFunc(from, func(e *Endpoint) bool { return !e.badLocked() }) {
		return s.anyLocked(from, avoid) // nobody is better than those that are left out
	}
	return e
}

// Choose is Pick for an owner that can have a connection to another endpoint made:
// it returns nil if all that could take the call are left out, and others are not.
func (s *Set) Choose(now time.Time, from []*Endpoint, avoid *Endpoint) *Endpoint {
	if len(from) > 0 && s.wait(now, from) {
		return nil
	}
	return s.Pick(now, from, avoid)
}

func (s *Set) wait(now time.Time, from []*Endpoint) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == 0 || s.observing {
		return false
	}
	for _, e := range from {
		if !e.out || e.dueLocked(now) {
			return false
		}
	}
	return true // at most half are
}

// LeftOut says whether calls are to be kept from an endpoint now, but for one that
// tries it.
func (s *Set) LeftOut(now time.Time, e *Endpoint) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return e.out && !s.observing && !e.dueLocked(now)
}

// dueLocked is an endpoint that is to be tried again.
func (s *Set) dueLocked(now time.Time, from []*Endpoint) *Endpoint {
	if s.out == 0 || s.observing {
		return nil
	}
	for _, e := range from {
		if e.out && e.dueLocked(now) {
			return e
		}
	}
	return nil
}

// drawLocked is a random one of those that may be used, other than the first if
// there are two.
func (s *Set) drawLocked(now time.Time, from []*Endpoint, avoid, first *Endpoint) *Endpoint {
	for range 4 {
		e := from[s.random(len(from))]
		if e != first && s.mayLocked(now, e, avoid) {
			return e
		}
	}
	var may []*Endpoint
	for _, e := range from {
		if e != first && s.mayLocked(now, e, avoid) {
			may = append(may, e)
		}
	}
	switch {
	case len(may) > 0:
		return may[s.random(len(may))]
	case first != nil:
		return first
	}
	return s.anyLocked(from, avoid)
}

// mayLocked looks at what an endpoint has not answered yet, before it may be used.
func (s *Set) mayLocked(now time.Time, e, avoid *Endpoint) bool {
	if e == avoid {
		return false
	}
	e.waitingLocked(now)
	e.judgeLocked(now)
	return !e.out || s.observing
}

// anyLocked is for when all are bad, or only those are left that are: one of them
// has to do.
func (s *Set) anyLocked(from []*Endpoint, avoid *Endpoint) *Endpoint {
	i := s.random(len(from))
	if from[i] == avoid {
		i = (i + 1) % len(from)
	}
	return from[i]
}

// comparePeersLocked finds out what is typical of the peers of each endpoint, from
// time to time.
func (s *Set) comparePeersLocked(now time.Time) {
	pause := max(100*time.Millisecond, time.Duration(len(s.all))*time.Millisecond)
	if !s.compared.IsZero() && now.Sub(s.compared) < pause {
		return
	}
	s.compared = now
	known := make([]*Endpoint, 0, len(s.all))
	for _, e := range s.all {
		if e.typical > 0 {
			known = append(known, e)
		}
		e.peers = 0
	}
	slices.SortFunc(known, func(a, b *Endpoint) int { return cmp.Compare(a.typical, b.typical) })
	for i, e := range known {
		if others := known[:len(known)-1]; len(others) > 0 {
			middle := (len(others) - 1) / 2
			if i <= middle {
				middle++ // e is one of those below
			}
			e.peers = known[middle].typical
		}
	}
	for _, e := range s.all {
		if e.typical == 0 && len(known) > 0 {
			e.peers = known[(len(known)-1)/2].typical
		}
	}
}

func (s *Set) notifyLocked(e *Endpoint, out bool) {
	if s.notify != nil {
		s.changes = append(s.changes, Change{Endpoint: e.name, Out: out, Observed: s.observing, Reason: e.reason, Err: e.lastError})
	}
}

// unlock unlocks the set, and then tells of changes.
func (s *Set) unlock() {
	changes := s.changes
	s.changes = nil
	s.mu.Unlock()
	for _, c := range changes {
		s.notify(c)
	}
}
