package capacity

import "math"

// ProbeFails returns the chance that a probe fails which enters by the same places
// and queue as the requests, when these come at rate and hold a place for latency
// seconds each: it finds the queue full, and is refused, which a kubelet takes for a
// failure as it does any status from 400 on; or it waits for timeout seconds or
// longer. A queue of NoQueue is none. It is NaN outside the domain.
//
// A short queue is no remedy: in an overload it is always full, and then the share
// 1 − places/(rate × latency) of all probes is refused at once. A probe that waits
// behind nobody can not fail in this way.
//
// Source: the M/M/c/K queue, first come first served: who finds j requests before
// it in the queue waits for j+1 ends, an Erlang distribution of that many steps at
// places/latency a second.
func ProbeFails(places, queue int, rate, latency, timeout float64) float64 {
	if queue == NoQueue {
		queue = 0
	}
	if places < 1 || queue < 0 || !(rate >= 0 && latency > 0 && timeout >= 0) || math.IsInf(rate*latency, 1) || math.IsInf(timeout, 1) {
		return math.NaN()
	}
	// Weights of the states with all places taken, relative to the one whose queue is
	// empty or, in an overload, full, so that they do not overflow.
	rho := rate * latency / float64(places)
	weight := func(j int) float64 {
		if rho > 1 {
			return math.Pow(rho, float64(j-queue))
		}
		return math.Pow(rho, float64(j))
	}
	all := ErlangB(places, rate*latency)
	if all == 0 {
		return 0
	}
	sum, fails := weight(0)*(1/all-1), 0.0 // the states with a free place
	ends := float64(places) / latency * timeout
	for j := range queue + 1 {
		w := weight(j)
		sum += w
		if j == queue {
			fails += w
		} else {
			fails += w * (1 - PoissonAtLeast(j+1, ends)) // fewer than j+1 ends in time
		}
	}
	return min(1, fails/sum)
}
