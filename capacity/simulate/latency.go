package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Latency is a distribution of answer times, in exactly one of its forms:
//
//   - P50 and P99: lognormal through two percentiles;
//   - Mean and CV: lognormal with this mean and this standard deviation as a
//     multiple of it; a CV of 0 is fixed;
//   - Exponential: exponential with this mean;
//   - Samples: measured times, interpolated between them.
type Latency struct {
	P50         time.Duration   `yaml:"p50"`
	P99         time.Duration   `yaml:"p99"`
	Mean        time.Duration   `yaml:"mean"`
	CV          float64         `yaml:"cv"`
	Exponential time.Duration   `yaml:"exponential"`
	Samples     []time.Duration `yaml:"samples"`
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.32634787404084

// A sampler draws from a Latency.
type sampler struct {
	mu, sigma float64 // lognormal in nanoseconds, when sigma > 0
	mean      float64 // exponential, when > 0
	fixed     int64
	sorted    []time.Duration
}

func (l Latency) sampler() sampler {
	switch {
	case len(l.Samples) > 0:
		return sampler{sorted: slices.Sorted(slices.Values(l.Samples))}
	case l.Exponential > 0:
		return sampler{mean: float64(l.Exponential)}
	case l.P50 > 0 && l.P99 > l.P50:
		return sampler{mu: math.Log(float64(l.P50)), sigma: math.Log(float64(l.P99)/float64(l.P50)) / z99}
	case l.P50 > 0:
		return sampler{fixed: int64(l.P50)}
	case l.CV > 0:
		// A lognormal's squared CV is exp(σ²)−1, its mean exp(μ+σ²/2).
		variance := math.Log1p(l.CV * l.CV)
		return sampler{mu: math.Log(float64(l.Mean)) - variance/2, sigma: math.Sqrt(variance)}
	}
	return sampler{fixed: int64(l.Mean)}
}

// draw returns one answer time in nanoseconds.
func (s *sampler) draw(r *rand.Rand) int64 {
	switch {
	case s.sigma > 0:
		return int64(math.Exp(s.mu + s.sigma*r.NormFloat64()))
	case s.mean > 0:
		return int64(s.mean * r.ExpFloat64())
	case s.sorted != nil:
		return s.between(r.Float64())
	}
	return s.fixed
}

// between is the inverse of the empirical distribution, linear between samples,
// so that 20 samples do not make 20 spikes.
func (s *sampler) between(p float64) int64 {
	at := p * float64(len(s.sorted)-1)
	i := int(at)
	lo, hi := s.sorted[i], s.sorted[min(i+1, len(s.sorted)-1)]
	return int64(float64(lo) + (at-float64(i))*float64(hi-lo))
}

// String is the form in which the distribution was given, such as "p50 300ms, p99
// 1.2s".
func (l Latency) String() string {
	switch {
	case len(l.Samples) > 0:
		return fmt.Sprintf("%d samples", len(l.Samples))
	case l.Exponential > 0:
		return fmt.Sprintf("exponential %v", l.Exponential)
	case l.P50 > 0:
		return fmt.Sprintf("p50 %v, p99 %v", l.P50, l.P99)
	case l.CV == 0:
		return l.Mean.String()
	}
	return fmt.Sprintf("mean %v, CV %.3g", l.Mean, l.CV)
}
