package simulate

import (
	"math"
	"math/rand/v2"
	"time"
)

// arrivals draws the times of calls from a rate that is linear between points.
type arrivals struct {
	load []Point // at least one
	even bool
	next int // the first point that lies after the last time drawn
}

func newArrivals(c Callers) arrivals {
	load := c.Load
	if len(load) == 0 {
		load = []Point{{Rate: c.Rate}}
	}
	return arrivals{load: load, even: c.Even}
}

// after returns the time of the first call after t, both in nanoseconds, or
// MaxInt64 if there is none.
//
// It inverts the integral of the rate, piece by piece: a unit exponential of work
// is spent on the area under the rate. Thinning a stream of the highest rate is
// shorter, but spends most of its draws on nothing when there is a spike.
func (a *arrivals) after(t int64, r *rand.Rand) int64 {
	area := 1.0
	if !a.even {
		area = r.ExpFloat64()
	}
	at := float64(t) / float64(time.Second)
	for ; ; a.next++ {
		for a.next < len(a.load) && a.load[a.next].At.Seconds() <= at {
			a.next++
		}
		from, slope, end := a.piece(at)
		if dt, ok := spend(area, from, slope, end-at); ok {
			return int64((at + dt) * float64(time.Second))
		}
		if math.IsInf(end, 1) {
			return math.MaxInt64
		}
		length := end - at
		area -= from*length + slope*length*length/2
		at = end
	}
}

// piece returns the rate at time at, in calls per second, its slope there, and
// where that ends.
func (a *arrivals) piece(at float64) (rate, slope, end float64) {
	switch {
	case a.next == 0:
		return float64(a.load[0].Rate), 0, a.load[0].At.Seconds()
	case a.next == len(a.load):
		return float64(a.load[a.next-1].Rate), 0, math.Inf(1)
	}
	lo, hi := a.load[a.next-1], a.load[a.next]
	slope = float64(hi.Rate-lo.Rate) / (hi.At - lo.At).Seconds()
	return float64(lo.Rate) + slope*(at-lo.At.Seconds()), slope, hi.At.Seconds()
}

// spend returns how long it takes until the area under a rate that starts at from
// and changes by slope a second is used up, if it is within length.
func spend(area, from, slope, length float64) (float64, bool) {
	var dt float64
	if slope == 0 {
		dt = area / from // +Inf for a rate of 0
	} else {
		under := from*from + 2*slope*area
		if under < 0 {
			return 0, false // the rate falls to 0 first
		}
		dt = 2 * area / (from + math.Sqrt(under))
	}
	return dt, dt <= length && !math.IsInf(dt, 1)
}
