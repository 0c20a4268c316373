package capacity

import "math"

// BoundedQueue is the steady state of places with a bounded queue in front.
type BoundedQueue struct {
	// Refused is the share of calls that find the queue full.
	Refused float64

	// Accepted is the rate of the others, per second.
	Accepted float64

	// Waiting is the mean number of calls in the queue, Wait the mean seconds an
	// accepted call spends there, and WaitChance the share of accepted calls that
	// wait at all.
	Waiting, Wait, WaitChance float64

	// Utilization is the mean share of places taken.
	Utilization float64
}

// Bounded returns the steady state of places with a queue in front for calls at
// rate that hold a place for latency seconds; any load is stable. All fields are
// NaN outside the domain.
//
// Source: the M/M/c/K queue with K = places + queue, Poisson arrivals and
// exponential latencies. The states up to c come from ErlangB, and those above
// are a geometric series, scaled by its largest term so that an overloaded queue
// of any length does not overflow.
func Bounded(places, queue int, rate, latency float64) BoundedQueue {
	if places < 1 || queue < 0 || !(rate >= 0 && latency > 0) || math.IsInf(rate*latency, 1) {
		nan := math.NaN()
		return BoundedQueue{nan, nan, nan, nan, nan, nan}
	}
	load := rate * latency
	rho := load / float64(places)

	// Weights relative to the sum of the states without a queue.
	below, term, ratio := 1.0, ErlangB(places, load), rho
	first, last := 0, queue
	if rho > 1 { // count down from the full queue instead
		below, ratio = math.Pow(rho, -float64(queue)), 1/rho
		first, last = queue, 0
	}
	var sum, waiting, full float64 // over 0…queue calls in the queue, all places taken
	step := 1
	if first > last {
		step = -1
	}
	for j := first; ; j += step {
		sum += term
		waiting += float64(j) * term
		if j == queue {
			full = term
		}
		if j == last {
			break
		}
		term *= ratio
	}
	// below counts the state with all places taken and none waiting, as sum does.
	total := sum + below*(1-ErlangB(places, load))
	refused := full / total
	accepted := rate * (1 - refused)
	q := BoundedQueue{Refused: refused, Accepted: accepted, Waiting: waiting / total}
	if accepted > 0 {
		q.Wait = q.Waiting / accepted
		q.WaitChance = (sum - full) / total / (1 - refused)
	}
	q.Utilization = accepted * latency / float64(places)
	return q
}
