package capacity

import "math"

// MeanWait returns the mean seconds a call waits for a place, over all calls,
// those that do not wait included; +Inf when the places can not carry the load.
//
// Source: the M/M/c queue (Poisson arrivals at rate, exponential latencies,
// first come first served, no limit to the queue): ErlangC/(c/latency − rate).
func MeanWait(places int, rate, latency float64) float64 {
	chance, spare := mmc(places, rate, latency)
	if spare <= 0 {
		return math.Inf(1)
	}
	return chance / spare
}

// WaitBeyond returns the chance that a call waits for longer than t seconds.
// Source: as for MeanWait.
func WaitBeyond(places int, rate, latency, t float64) float64 {
	chance, spare := mmc(places, rate, latency)
	if !(t >= 0) {
		return math.NaN()
	}
	if spare <= 0 {
		return 1
	}
	return chance * math.Exp(-spare*t)
}

// WaitPercentile returns the seconds within which the share p of calls, in
// [0, 1), gets its place; 0 if that many do not wait, +Inf when the places can
// not carry the load. Source: as for MeanWait.
func WaitPercentile(places int, rate, latency, p float64) float64 {
	chance, spare := mmc(places, rate, latency)
	switch {
	case !(p >= 0 && p < 1) || math.IsNaN(chance):
		return math.NaN()
	case spare <= 0:
		return math.Inf(1)
	case chance <= 1-p:
		return 0
	}
	return math.Log(chance/(1-p)) / spare
}

// CallBeyond returns the chance that a call, its wait included, takes longer
// than t seconds. Source: as for MeanWait; the sum of the wait and an exponential
// latency.
func CallBeyond(places int, rate, latency, t float64) float64 {
	chance, spare := mmc(places, rate, latency)
	if !(t >= 0) || math.IsNaN(chance) {
		return math.NaN()
	}
	if spare <= 0 {
		return 1
	}
	// The textbook form is a difference of two exponentials over the difference of
	// their rates, which may be 0: expm1 keeps the digits, and taking the slower one
	// out keeps it from overflowing.
	service := 1 / latency
	apart := math.Abs(spare - service)
	late := service * t
	if apart != 0 {
		late = -service * math.Expm1(-apart*t) / apart
	}
	return math.Exp(-service*t) + chance*late*math.Exp(-min(spare, service)*t)
}

// CallPercentile returns the seconds within which the share p of calls, in
// [0, 1), ends, its wait included; +Inf when the places can not carry the load.
func CallPercentile(places int, rate, latency, p float64) float64 {
	chance, spare := mmc(places, rate, latency)
	switch {
	case !(p >= 0 && p < 1) || math.IsNaN(chance):
		return math.NaN()
	case spare <= 0:
		return math.Inf(1)
	}
	return root(func(t float64) bool { return CallBeyond(places, rate, latency, t) <= 1-p })
}

// mmc returns the chance to wait and the spare service rate c/latency − rate.
func mmc(places int, rate, latency float64) (chance, spare float64) {
	if places < 1 || !(rate >= 0 && latency > 0) {
		return math.NaN(), math.NaN()
	}
	return ErlangC(places, rate*latency), float64(places)/latency - rate
}

// root returns the least positive x at which reached, once true, stays true. It
// halves the bits of the number, not its value, and so finds any magnitude in 64
// steps.
func root(reached func(x float64) bool) float64 {
	lo, hi := uint64(0), math.Float64bits(math.MaxFloat64)
	for lo < hi {
		mid := lo + (hi-lo)/2
		if reached(math.Float64frombits(mid)) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return math.Float64frombits(lo)
}

// AllenCunneen returns the mean wait in seconds for arrivals and latencies of
// other shapes: MeanWait times the mean of their squared coefficients of
// variation (1 for Poisson arrivals and exponential latencies, 0 for constant
// ones).
//
// Source: A. O. Allen, "Probability, Statistics, and Queueing Theory", 1990, an
// approximation that is good where waits are frequent. Sakasegawa's needs no
// ErlangC but is far off at low utilization, where most pools should be; see
// [Sakasegawa].
func AllenCunneen(places int, rate, latency, arrivals2, latencies2 float64) float64 {
	if !(arrivals2 >= 0 && latencies2 >= 0) {
		return math.NaN()
	}
	return MeanWait(places, rate, latency) * (arrivals2 + latencies2) / 2
}

// Sakasegawa returns the mean wait in seconds from a closed formula; the
// arguments are AllenCunneen's.
//
// Source: H. Sakasegawa, "An approximation formula Lq ≃ α·ρ^β/(1−ρ)", 1977.
func Sakasegawa(places int, rate, latency, arrivals2, latencies2 float64) float64 {
	if places < 1 || !(rate >= 0 && latency > 0 && arrivals2 >= 0 && latencies2 >= 0) {
		return math.NaN()
	}
	c := float64(places)
	rho := rate * latency / c
	if rho >= 1 {
		return math.Inf(1)
	}
	return math.Pow(rho, math.Sqrt(2*(c+1))-1) / (c * (1 - rho)) * latency * (arrivals2 + latencies2) / 2
}
