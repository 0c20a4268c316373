package capacity

import "math"

// Little returns the mean number of requests in flight, rate × latency. The
// latency is the mean, and covers the whole time a place is held, body included.
//
// Source: J. D. C. Little, "A Proof for the Queuing Formula: L = λW", 1961. It
// holds for any arrivals and any latencies.
func Little(rate, latency float64) float64 {
	if !(rate >= 0 && latency >= 0) {
		return math.NaN()
	}
	return rate * latency
}

// MaxRate returns the rate, per second, at which places are all taken when each
// call holds one for latency seconds.
func MaxRate(places int, latency float64) float64 {
	if places < 0 || !(latency > 0) {
		return math.NaN()
	}
	return float64(places) / latency
}

// CriticalLatency returns the mean latency, in seconds, at which calls arriving
// at rate take all places. An upstream slower than this is one the pool can not
// carry.
func CriticalLatency(places int, rate float64) float64 {
	if places < 0 || !(rate > 0) {
		return math.NaN()
	}
	return float64(places) / rate
}

// Loss returns the share of calls that can not be carried, 1 − places/load, or 0
// while there are places for the mean load. It is the fluid limit, without
// randomness: a queue of any length only delays it.
func Loss(places int, load float64) float64 {
	if places < 0 || !(load >= 0) {
		return math.NaN()
	}
	if load <= float64(places) {
		return 0
	}
	return 1 - float64(places)/load
}

// FillTime returns the seconds until a queue of the given length is full, when
// calls come at rate and leave at service, both per second; +Inf if service
// keeps up.
func FillTime(queue int, rate, service float64) float64 {
	if queue < 0 || !(rate >= 0 && service >= 0) {
		return math.NaN()
	}
	if rate <= service {
		return math.Inf(1)
	}
	return float64(queue) / (rate - service)
}

// DrainTime returns the seconds until a queue of the given length is empty, when
// calls leave at service and still come at rate, both per second; +Inf if
// service is no faster.
func DrainTime(queue int, service, rate float64) float64 {
	return FillTime(queue, service, rate)
}

// SquareRootStaffing returns load + z√load places: the mean in flight and z
// standard deviations of Poisson arrivals, for the first rough size.
//
// Source: the square-root safety staffing rule; S. Halfin and W. Whitt,
// "Heavy-Traffic Limits for Queues with Many Exponential Servers", 1981.
func SquareRootStaffing(load, z float64) float64 {
	if !(load >= 0 && z >= 0) {
		return math.NaN()
	}
	return load + z*math.Sqrt(load)
}

// LoadAfterEjection returns by which factor the load of the remaining hosts
// grows when ejected of hosts are taken out, hosts/(hosts − ejected); +Inf when
// none remains.
func LoadAfterEjection(hosts, ejected int) float64 {
	if hosts < 1 || ejected < 0 || ejected > hosts {
		return math.NaN()
	}
	return float64(hosts) / float64(hosts-ejected)
}
