package capacity

import "math"

// normal99 is the 99th percentile of the standard normal distribution.
const normal99 = 2.3263478740408408

// A Spread is a distribution of latencies in seconds. Its zero value is the
// constant 0. Spreads are plain values.
type Spread struct {
	mean float64
	// sigma is the standard deviation of the logarithm; 0 is a constant.
	sigma       float64
	exponential bool
}

// Constant returns the spread of calls that all take mean seconds.
func Constant(mean float64) Spread { return Spread{mean: mean} }

// Exponential returns the spread whose past says nothing about its future, which
// Erlang's formulas assume. Its 99th percentile is 4.6 times its mean.
func Exponential(mean float64) Spread { return Spread{mean: mean, exponential: true} }

// Lognormal returns the spread with this mean and this coefficient of variation
// (standard deviation over mean); most real latencies are close to one.
func Lognormal(mean, variation float64) Spread {
	return Spread{mean: mean, sigma: math.Sqrt(math.Log1p(variation * variation))}
}

// FitLognormal returns the lognormal spread with this median and 99th
// percentile. Little's law wants its Mean: for 0.3 s and 1.2 s that is 19 % above
// the median. p99 must not be below p50, and both must be positive.
func FitLognormal(p50, p99 float64) Spread {
	if !(p50 > 0 && p99 >= p50) {
		return Spread{mean: math.NaN(), sigma: math.NaN()}
	}
	sigma := math.Log(p99/p50) / normal99
	return Spread{mean: p50 * math.Exp(sigma*sigma/2), sigma: sigma}
}

// Mean returns the mean latency in seconds.
func (s Spread) Mean() float64 { return s.mean }

// Sigma returns the standard deviation of the logarithm of a lognormal spread, 0
// for the others.
func (s Spread) Sigma() float64 { return s.sigma }

// Variation2 returns the squared coefficient of variation: 0 if constant, 1 if
// exponential.
func (s Spread) Variation2() float64 {
	if s.exponential {
		return 1
	}
	return math.Expm1(s.sigma * s.sigma)
}

// Below returns the share of calls that take at most x seconds.
func (s Spread) Below(x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case s.exponential:
		return -math.Expm1(-x / s.mean)
	case s.sigma == 0:
		if x >= s.mean {
			return 1
		}
		return 0
	}
	return normalBelow(s.score(x))
}

// CutMean returns the mean of min(latency, x): how long calls hold a place when
// each is cut off after x seconds.
func (s Spread) CutMean(x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case s.exponential:
		return s.mean * -math.Expm1(-x/s.mean)
	case s.sigma == 0:
		return min(s.mean, x)
	}
	z := s.score(x)
	return s.mean*normalBelow(z-s.sigma) + x*normalBelow(-z)
}

// score is how many standard deviations the logarithm of x lies above that of
// the median.
func (s Spread) score(x float64) float64 {
	return (math.Log(x/s.mean) + s.sigma*s.sigma/2) / s.sigma
}

func normalBelow(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
