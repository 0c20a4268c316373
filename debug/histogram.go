package debug

import (
	"math"
	"time"
)

// Histogram counts observations in buckets, in the way of Prometheus: Counts[i]
// of them were at most Bounds[i] seconds, the bounds rise, and the last of Counts
// (one more than there are bounds) is all of them. The zero Histogram is empty,
// and so is one whose lengths do not fit.
type Histogram struct {
	Bounds []float64
	Counts []uint64

	most float64 // what no observation exceeds, if its bucket begins below it; 0 if not known
}

// within is the histogram of what a bound ends, such as a deadline. A bucket is
// wider than that, and the values in it are spread over all of it: a percentile would
// be longer than anything can last. What began beyond the bound is not bound by it,
// as a stream.
func (h Histogram) within(most time.Duration) Histogram {
	h.most = most.Seconds()
	return h
}

// bound keeps a value of a bucket within what there can be.
func (h Histogram) bound(lower, v float64) float64 {
	if h.most > lower && h.most < v {
		return h.most
	}
	return v
}

func (h Histogram) count() uint64 {
	if len(h.Counts) == 0 || len(h.Counts) != len(h.Bounds)+1 {
		return 0
	}
	return h.Counts[len(h.Bounds)]
}

// since is what was observed after old. A histogram that counts less than old
// began anew, and is returned as it is.
func (h Histogram) since(old Histogram) Histogram {
	if h.count() == 0 || old.count() == 0 || len(old.Counts) != len(h.Counts) {
		return h
	}
	counts := make([]uint64, len(h.Counts))
	for i, n := range h.Counts {
		if n < old.Counts[i] {
			return h
		}
		counts[i] = n - old.Counts[i]
	}
	return Histogram{h.Bounds, counts, h.most}
}

// quantile is the value that a share q of the observations does not exceed,
// interpolated within its bucket as histogram_quantile of PromQL does. What is
// beyond the last bound is given as that bound, and nothing at all as NaN.
func (h Histogram) quantile(q float64) float64 {
	n := h.count()
	if n == 0 || len(h.Bounds) == 0 {
		return math.NaN()
	}
	rank := q * float64(n)
	for i, upper := range h.Bounds {
		at := float64(h.Counts[i])
		if at < rank || at == 0 {
			continue
		}
		if i == 0 {
			return h.bound(0, max(0, upper)*min(1, rank/at))
		}
		lower, below := h.Bounds[i-1], float64(h.Counts[i-1])
		if at <= below {
			return h.bound(lower, upper)
		}
		return h.bound(lower, lower+(upper-lower)*max(0, rank-below)/(at-below))
	}
	return h.Bounds[len(h.Bounds)-1]
}

// text writes a quantile in the unit that fits.
func (h Histogram) text(q float64) string {
	if h.capped(q) {
		return "more than " + seconds(h.quantile(q))
	}
	return seconds(h.quantile(q))
}

// capped says whether the quantile lies beyond the last bound.
func (h Histogram) capped(q float64) bool {
	n := h.count()
	return n > 0 && len(h.Bounds) > 0 && q*float64(n) > float64(h.Counts[len(h.Bounds)-1])
}
