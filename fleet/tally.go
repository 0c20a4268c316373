package fleet

import "time"

// Count is one answer to how many replicas there are.
type Count struct {
	Replicas int  // that may hold places, this one included
	Self     bool // this one was among them
}

// tally turns answers into the number of replicas to divide by: up at once, down
// only when nothing else was seen for the settle time.
//
// Why this is safe. Let an answer be at most lag old when it arrives, be good for
// fresh from when it was asked for, and let a place given up be free after hold at
// the latest. Settle is at least lag + fresh + hold.
//
// A newcomer that joins at s takes more than its floor at s + settle at the
// earliest, since its settling starts with the first answer that has it. Every
// other replica whose last answer does not have it asked before s + lag, so that it
// either asks again and shrinks, or is back on its floor, by s + lag + fresh; and
// its places are free by s + settle.
//
// A replica that is no longer counted from e on, but alive, has its last answer
// with itself in it asked for before e + lag, and so is back on its floor and free
// of the rest by e + settle, before anybody divides by less.
//
// A tally belongs to one goroutine.
type tally struct {
	settle, fresh time.Duration

	answers []answer  // those that any instant of the last settle time fell under
	since   time.Time // of the first of an unbroken row of answers with this replica in them
	asked   time.Time // the last answer
}

type answer struct {
	at       time.Time
	replicas int
}

// note takes an answer that was asked for and got at these times.
func (t *tally) note(asked, got time.Time, c Count) {
	t.lapse(got)
	t.asked = asked
	t.answers = append(t.answers, answer{got, c.Replicas})
	if !c.Self {
		t.since = time.Time{}
	} else if t.since.IsZero() {
		t.since = got
	}
}

// stale is when the last answer runs out; zero if there is none.
func (t *tally) stale() time.Time {
	if t.asked.IsZero() {
		return time.Time{}
	}
	return t.asked.Add(t.fresh)
}

// lapse forgets everything once the last answer has run out: whoever was blind for
// so long may have been out of the count meanwhile, and starts as a newcomer.
func (t *tally) lapse(now time.Time) {
	if s := t.stale(); !s.IsZero() && !now.Before(s) {
		*t = tally{settle: t.settle, fresh: t.fresh}
	}
}

// replicas is the number to divide by; 0 while only the floor is safe.
func (t *tally) replicas(now time.Time) int {
	t.lapse(now)
	if t.since.IsZero() || now.Sub(t.since) < t.settle {
		return 0
	}
	// An answer stands until the next one, and so counts if that came within the
	// settle time.
	for len(t.answers) > 1 && now.Sub(t.answers[1].at) > t.settle {
		t.answers = t.answers[1:]
	}
	most := 0
	for _, a := range t.answers {
		most = max(most, a.replicas)
	}
	return most
}
