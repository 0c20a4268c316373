package capacity

import (
	"fmt"
	"time"
)

// What a plan forgives where the upstream states no limit. A place that nobody
// holds costs nothing then: it is a number in the gate, and its connection is
// dialed when it is first needed.
const (
	// slower is how many times slower a fast upstream may become before anybody is
	// refused.
	slower = 10

	// forgivingPlaces is the least number of places for all that: the semaphore that
	// people write by hand where they have no number has 64.
	forgivingPlaces = 64

	// forgivingChance is the chance to wait for a place meanwhile: so small that next
	// to nobody waits for longer than Wait.
	forgivingChance = 0.001
)

// forgiving is the bound from below where no limit is stated: the places that ten
// times the latency needs, but no more than half of what a call may take fills.
//
// It is tempting to go up to the whole of it. But a place more is also a call more
// that waits inside an upstream which has become too slow for the rate. One that
// carries half of the rate answers a full pool in twice the time that fills it; were
// that beyond the end of the calls, it would work on nothing but calls that are given
// up.
func (d Demand) forgiving(stated Plan) (Bound, error) {
	each := d.Rate / float64(d.Replicas)
	load := min(each*slower*d.mean(), maxPlaces/2)
	n, err := PlacesFor(load, forgivingChance)
	if err != nil {
		return Bound{}, err
	}
	b := Bound{n, fmt.Sprintf("at most %s of calls wait at %.4g in flight, Erlang C", percent(forgivingChance), load),
		fmt.Sprintf("while the upstream takes %v", seconds(slower*d.mean()))}
	if once := d.times(stated).Once; each*once.Seconds()/2 < float64(n) {
		b = Bound{int(each * once.Seconds() / 2), fmt.Sprintf("%.4g/s × half of %v", each, once), "while the upstream is slow"}
	}
	if b.Places <= forgivingPlaces {
		b = Bound{forgivingPlaces, "no limit is stated, and no places cost less", ""}
	}
	return b, nil
}

// longestWait bounds the wait for a place in proportion to the latency: who has
// waited for as long as ten calls take has waited for longer than a tenfold slowdown
// explains. It is not less than the wait of a plan that is stated by hand, since a
// process that collects its garbage pauses too.
func (d Demand) longestWait() time.Duration { return max(seconds(slower*d.mean()), defaultWait) }

// queue is how many may wait: as many as get their place within Wait, or ten for
// each place where calls are so short that this would be more.
func (d Demand) queue(p Plan) int {
	wait := min(p.Wait.Seconds(), slower*d.mean())
	return min(max(ceil(MaxRate(p.InFlight, d.mean())*wait), 1), maxPlaces)
}

// repeated is how many places of a replica its calls take at the longest latency
// that is promised, with as many retries as the plan allows: without places for them
// the retries of one overload would be the load of the next.
func (d Demand) repeated(p Plan) Bound {
	share := p.RetryShare
	if share == 0 {
		share = defaultRetryShare
	}
	return Bound{ceil((1 + share) * d.Rate * d.slowest() / float64(d.Replicas)),
		fmt.Sprintf("%g/s × %v / %s, and %s for retries", d.Rate, seconds(d.slowest()), count(d.Replicas, "replica"), percent(share)),
		"while the upstream is slow"}
}
