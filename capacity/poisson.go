package capacity

import "math"

// PoissonAtLeast returns the chance of at least k arrivals when mean are
// expected.
func PoissonAtLeast(k int, mean float64) float64 {
	if !(mean >= 0) || math.IsInf(mean, 1) {
		return math.NaN()
	}
	if k <= 0 {
		return 1
	}
	if float64(k) <= mean { // the lower tail is the shorter sum
		return max(0, 1-poissonSum(k-1, mean, -1))
	}
	return min(1, poissonSum(k, mean, +1))
}

// poissonSum adds the chances of k, k+step, k+2·step, … until they no longer
// count.
func poissonSum(k int, mean float64, step int) float64 {
	if mean == 0 {
		return 0
	}
	lg, _ := math.Lgamma(float64(k) + 1)
	term := math.Exp(float64(k)*math.Log(mean) - mean - lg)
	sum := 0.0
	for k >= 0 && term > sum*1e-18 {
		sum += term
		if step > 0 {
			term *= mean / float64(k+1)
		} else {
			term *= float64(k) / mean
		}
		k += step
	}
	return sum
}

// PoissonQuantile returns the least number that the share p, in [0, 1), of
// Poisson counts with this mean does not exceed; -1 outside the domain. With mean
// in flight and no limit, it is the places that suffice for p of the time.
func PoissonQuantile(mean, p float64) int {
	if !(mean >= 0 && mean <= maxPlaces && p >= 0 && p < 1) {
		return -1
	}
	if mean == 0 {
		return 0
	}
	n := int(max(0, mean-40*math.Sqrt(mean)-40)) // what lies below is less than rounding
	for below := 0.0; ; n++ {
		lg, _ := math.Lgamma(float64(n) + 1)
		term := math.Exp(float64(n)*math.Log(mean) - mean - lg)
		if below += term; below >= p || float64(n) > mean && term < 1e-18 {
			return n
		}
	}
}
