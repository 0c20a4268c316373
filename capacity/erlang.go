package capacity

import (
	"fmt"
	"math"
)

// ErlangB returns the share of calls that find all places taken when none may
// wait. It takes one step per place: 0.2 ms for 100,000.
//
// Source: A. K. Erlang, 1917, by the recursion 1/B(c) = 1 + c/a · 1/B(c−1). It
// adds only positive numbers, so its error does not grow with c, and where it
// overflows B is 0 in any case. It is tempting to use the sum of aᵏ/k!, but that
// overflows from 171 places on.
func ErlangB(places int, load float64) float64 {
	if places < 0 || !(load >= 0) || math.IsInf(load, 1) {
		return math.NaN()
	}
	inverse := 1.0
	for c := 1; c <= places && inverse <= math.MaxFloat64; c++ {
		inverse = 1 + float64(c)/load*inverse
	}
	return 1 / inverse
}

// ErlangC returns the chance that a call has to wait for a place when calls wait
// as long as it takes; 1 when load is not less than places.
//
// Source: A. K. Erlang, 1917, for Poisson arrivals and exponential latencies:
// C = cB/(c − a(1−B)).
func ErlangC(places int, load float64) float64 {
	if load >= float64(places) && places >= 0 && !math.IsInf(load, 1) {
		return 1 // without counting through a billion places
	}
	return waitChance(ErlangB(places, load), places, load)
}

func waitChance(b float64, places int, load float64) float64 {
	c := float64(places)
	if load >= c && !math.IsNaN(b) {
		return 1
	}
	return c * b / (c - load*(1-b))
}

// PlacesFor returns the least number of places at which the chance to wait at
// all, by ErlangC, is at most chance. It fails if load is negative or needs more
// than a million places, or if chance is not in (0, 1].
func PlacesFor(load, chance float64) (int, error) {
	return leastPlaces(load, chance, func(int) float64 { return 1 })
}

// PlacesForWait returns the least number of places at which the chance to wait
// for longer than wait is at most chance. It fails like PlacesFor, and if a time
// is out of its domain.
func PlacesForWait(rate, latency, wait, chance float64) (int, error) {
	if !(rate >= 0 && latency > 0 && wait >= 0) {
		return 0, fmt.Errorf("capacity: places for a wait: rate %g, latency %g and wait %g must be positive numbers", rate, latency, wait)
	}
	return leastPlaces(rate*latency, chance, func(c int) float64 {
		return math.Exp(-(float64(c)/latency - rate) * wait)
	})
}

// leastPlaces goes up through the Erlang recursion once, until the chance to
// wait, times the share of waits that are too long, is small enough.
func leastPlaces(load, chance float64, tooLong func(places int) float64) (int, error) {
	if !(load >= 0 && load < maxPlaces) {
		return 0, fmt.Errorf("capacity: places: load %g is not in [0, %d)", load, maxPlaces)
	}
	if !(chance > 0 && chance <= 1) {
		return 0, fmt.Errorf("capacity: places: chance to wait %g is not in (0, 1]; 0.05 would do", chance)
	}
	inverse := 1.0
	for c := 1; c <= maxPlaces; c++ {
		inverse = 1 + float64(c)/load*inverse
		if float64(c) > load && waitChance(1/inverse, c, load)*tooLong(c) <= chance {
			return c, nil
		}
	}
	return 0, fmt.Errorf("capacity: places: load %g needs more than %d", load, maxPlaces)
}
