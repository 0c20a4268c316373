package capacity

import "math"

// churnLoad is the highest load whose chain is solved step by step.
const churnLoad = 10_000

// DialChance returns the share of calls that must open a connection when at most
// idle connections are kept and load are in flight on average: close to
// 1/(idle + 1) for a high load, and 1 when none is kept. It takes some
// milliseconds at most; above a load of 10,000 it is right to three digits.
//
// Source: our solution of the Markov chain of busy and idle connections, for
// Poisson arrivals, exponential latencies and no limit on connections. Let m be
// the connections that stand, n of them busy. m grows only from n = m and shrinks
// only at n = m − idle, so within one m the busy ones are a birth–death chain
// whose net flow is the same everywhere, and the flows between neighbouring m
// follow one from the other.
func DialChance(load float64, idle int) float64 {
	if !(load >= 0) || math.IsInf(load, 1) || idle < 0 {
		return math.NaN()
	}
	if load == 0 && idle == 0 {
		return 1
	}
	if float64(idle) > load+40*math.Sqrt(load)+40 {
		return 0 // nobody has ever been in flight beside so many
	}
	if load > churnLoad {
		// P × (idle + 1) depends only on idle/√load: the chain becomes a diffusion
		// between two walls.
		scaled := int(float64(idle)*math.Sqrt(churnLoad/load) + 0.5)
		return DialChance(churnLoad, scaled) * float64(scaled+1) / float64(idle+1)
	}
	// At m = idle, no connection is ever closed and n can be 0, which happens with
	// the Poisson chance e^−load and nowhere else: that fixes the scale. The rest
	// is in logarithms, since e^−load is 0 from 746 on.
	flow := -load - math.Log(ascending(0, idle, load))
	largest, sum := flow, 1.0 // sum of exp(flow − largest)
	for m := idle + 1; ; m++ {
		closing := float64(m - idle)
		ratio := 1 + load/(closing*ascending(m-idle, idle, load)) - 1/descending(m, idle, load)
		if ratio <= 0 {
			break // only rounding is left
		}
		flow += math.Log(ratio)
		if flow > largest {
			sum = sum*math.Exp(largest-flow) + 1
			largest = flow
			continue
		}
		term := math.Exp(flow - largest)
		sum += term
		if term < 1e-17*sum && float64(m) > load {
			break
		}
	}
	return min(1, sum*math.Exp(largest))
}

// ascending is the sum over s = 0…n of the products of k/load for k = from+1 …
// from+s.
func ascending(from, n int, load float64) float64 {
	sum, term := 1.0, 1.0
	for s := 1; s <= n; s++ {
		term *= float64(from+s) / load
		sum += term
		if term < 1e-18*sum && float64(from+n) < load || math.IsInf(sum, 1) {
			break
		}
	}
	return sum
}

// descending is the sum over s = 0…n of the products of load/k for k = from …
// from−s+1.
func descending(from, n int, load float64) float64 {
	sum, term := 1.0, 1.0
	for s := range n {
		term *= load / float64(from-s)
		sum += term
		if term < 1e-18*sum && float64(from-n) > load || math.IsInf(sum, 1) {
			break
		}
	}
	return sum
}

// MaxDials returns the most connections per second to one address and port that
// do not run out of local ports, when each closed connection keeps its port for
// timeWait seconds: ports/timeWait. Linux has 28,232 ports and 60 s by default.
func MaxDials(ports int, timeWait float64) float64 {
	if ports < 0 || !(timeWait > 0) {
		return math.NaN()
	}
	return float64(ports) / timeWait
}
