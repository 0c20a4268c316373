package capacity

import "math"

// Collapsed is the steady state of an overloaded pool whose callers give up.
type Collapsed struct {
	// Left is how many seconds of its deadline a call has when it gets a place,
	// Wait how many it has spent in the queue.
	Left, Wait float64

	// Success is the share of calls that end in time, Goodput their rate.
	Success, Goodput float64
}

// Collapse returns what is left of places when calls wait first come first
// served, without a bound, until deadline seconds have passed. Every call that
// gets a place has then nearly given up, so the pool works at full rate on calls
// that will be cut off: with constant latencies nothing succeeds at all. Refusing
// early keeps the whole of MaxRate instead.
//
// Source: our derivation. In a steady overload each call is cut off after the
// same x seconds, so that the mean of min(latency, x) is places/rate; it waited
// deadline − x, and succeeds if its latency is at most x.
//
// Without an overload, that is when calls cut off after the whole deadline fit
// into the places, Wait is 0. All fields are NaN outside the domain.
func Collapse(places int, rate float64, latency Spread, deadline float64) Collapsed {
	if places < 1 || !(rate > 0 && deadline > 0 && latency.mean > 0) {
		nan := math.NaN()
		return Collapsed{nan, nan, nan, nan}
	}
	held := float64(places) / rate // by each call, if all are to get a place
	left := deadline
	if latency.CutMean(deadline) > held {
		left = root(func(x float64) bool { return latency.CutMean(x) >= held })
	}
	success := latency.Below(left)
	return Collapsed{Left: left, Wait: deadline - left, Success: success, Goodput: rate * success}
}
