package capacity

import "math"

// RetryLoad returns how many attempts a call makes on average when each fails
// with chance p and at most attempts are made: (1 − pⁿ)/(1 − p), which is n when
// everything fails. Layers that retry on their own multiply.
func RetryLoad(p float64, attempts int) float64 {
	if !(p >= 0 && p <= 1) || attempts < 1 {
		return math.NaN()
	}
	load, chance := 0.0, 1.0
	for range attempts {
		load += chance
		chance *= p
	}
	return load
}

// BudgetLoad returns the bound on attempts for each call when retries may be at
// most share, in [0, 1), of all requests in flight, retries included:
// 1/(1 − share). Envoy's retry budget and the Gateway API's count in this way; a
// Plan's RetryShare and gRPC's token ratio are a share of first attempts, with
// the bound 1 + share.
func BudgetLoad(share float64) float64 {
	if !(share >= 0 && share < 1) {
		return math.NaN()
	}
	return 1 / (1 - share)
}

// Overload is the steady state of an upstream that more calls reach than it can
// carry, when failed attempts are retried.
type Overload struct {
	// AttemptFails is the share of attempts that fail, CallFails that of calls
	// whose every attempt does.
	AttemptFails, CallFails float64

	// Load is attempts for each call, Offered their rate.
	Load, Offered float64
}

// RetryOverload returns the fixed point of retries against a capacity, both
// rates per second: retries raise the failures that cause them, until the calls
// that succeed, rate × (1 − pⁿ), are what can be carried. Retries do not change
// how many calls fail; they multiply what is offered.
//
// Below capacity nothing fails. It assumes that what is refused costs nothing;
// where it does, see Collapse.
func RetryOverload(rate, capacity float64, attempts int) Overload {
	if !(rate > 0 && capacity >= 0) || attempts < 1 {
		nan := math.NaN()
		return Overload{nan, nan, nan, nan}
	}
	fails := max(0, 1-capacity/rate)
	p := math.Pow(fails, 1/float64(attempts))
	load := RetryLoad(p, attempts)
	return Overload{AttemptFails: p, CallFails: fails, Load: load, Offered: rate * load}
}
