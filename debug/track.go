package debug

import (
	"math"
	"time"
)

// point is one slot of the history of a subject. What is not known is NaN.
type point struct {
	inFlight, places, required, queued float64
	wait                               float64 // p95, in seconds
	calls, failed, refused             float64 // per second
}

// track is what is remembered of one upstream or door.
type track struct {
	since  time.Time // of the slot being filled
	points [slots]point
	pushed uint64 // how many there ever were; the next one's place, too

	bases [baseline]base // the starts of the last slots, the oldest at oldest
	based int
	first int

	high point // the peaks within the slot being filled
	seen time.Time
}

// base is a snapshot that later ones are compared with.
type base struct {
	at       time.Time
	upstream Upstream // of a door, its flow alone
}

// add takes in a snapshot, and returns what happened in the window before it.
func (t *track) add(now time.Time, u Upstream) window {
	t.seen = now
	if t.based == 0 {
		t.since = now
		t.keep(base{now, u})
	}
	t.high.inFlight = max(t.high.inFlight, float64(u.InFlight))
	t.high.queued = max(t.high.queued, float64(u.Queued))
	if age := now.Sub(t.since); age >= slot {
		last := t.bases[(t.first+t.based-1)%baseline]
		for range min(slots, int(age/slot)-1) { // nobody looked
			t.push(unknown())
		}
		t.push(t.point(u, u.since(last.upstream, now.Sub(last.at).Seconds())))
		t.high = point{}
		t.since = now
		t.keep(base{now, u})
	}
	oldest := t.bases[t.first]
	return u.since(oldest.upstream, now.Sub(oldest.at).Seconds())
}

func (t *track) keep(b base) {
	if t.based < baseline {
		t.bases[t.based] = b
		t.based++
		return
	}
	t.bases[t.first] = b
	t.first = (t.first + 1) % baseline
}

func (t *track) push(p point) {
	t.points[t.pushed%slots] = p
	t.pushed++
}

func (t *track) point(u Upstream, w window) point {
	perSecond := func(n uint64) float64 { return float64(n) / w.seconds }
	return point{
		inFlight: t.high.inFlight,
		queued:   t.high.queued,
		places:   float64(u.Places),
		required: u.Required,
		wait:     w.wait.quantile(0.95),
		calls:    perSecond(w.calls()),
		failed:   perSecond(w.failed() + w.timeouts()),
		refused:  perSecond(w.turnedAway()),
	}
}

func unknown() point {
	nan := math.NaN()
	return point{nan, nan, nan, nan, nan, nan, nan, nan}
}

// series is the history of one figure between two slots, oldest first.
func (t *track) series(from, to uint64, figure func(point) float64) []sample {
	all := []sample{}
	for i := max(from, t.pushed-min(t.pushed, slots)); i < min(to, t.pushed); i++ {
		all = append(all, sample(figure(t.points[i%slots])))
	}
	return all
}

// sample is a figure to three digits, null where it is not known.
type sample float64

// MarshalJSON implements json.Marshaler, which can't write NaN by itself.
func (s sample) MarshalJSON() ([]byte, error) { return appendFigure(nil, float64(s)), nil }
