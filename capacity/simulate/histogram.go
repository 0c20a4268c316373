package simulate

import (
	"math/bits"
	"time"
)

// A histogram counts times in buckets whose width grows with them: 64 for each
// doubling from about a microsecond to over an hour, so that a quantile is within
// 1.6 % before the interpolation that makes it better still. Its size is fixed.
type histogram struct {
	counts [histogramBuckets]int64
	n      int64
	sum    float64 // nanoseconds
	most   int64
}

const (
	unitBits         = 10 // 2^10 ns, about a microsecond
	subBits          = 6
	subBuckets       = 1 << subBits
	octaves          = 28
	histogramBuckets = octaves * subBuckets
)

func (h *histogram) add(ns int64) {
	h.n++
	h.sum += float64(ns)
	h.most = max(h.most, ns)
	h.counts[bucketOf(ns)]++
}

func bucketOf(ns int64) int {
	v := uint64(ns) >> unitBits
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - subBits - 1
	return min((shift+1)*subBuckets+int(v>>shift)-subBuckets, histogramBuckets-1)
}

// lower is the least time, in nanoseconds, in bucket i.
func lower(i int) float64 {
	if i < subBuckets {
		return float64(i << unitBits)
	}
	shift := i/subBuckets - 1
	return float64((i%subBuckets + subBuckets) << shift << unitBits)
}

// quantile returns the time under which the share q lies, 0 if there is none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank := q * float64(h.n)
	for i, c := range h.counts {
		if c == 0 {
			continue
		}
		if rank <= float64(c) {
			if i == 0 {
				return 0 // what did not wait at all
			}
			within := lower(i) + (lower(i+1)-lower(i))*rank/float64(c)
			return min(time.Duration(within), time.Duration(h.most))
		}
		rank -= float64(c)
	}
	return time.Duration(h.most)
}

func (h *histogram) mean() time.Duration {
	if h.n == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.n))
}

// Times are the mean and percentiles of what was measured; all are 0 if nothing
// was.
type Times struct {
	Mean, P50, P95, P99 time.Duration
}

func (h *histogram) times() Times {
	return Times{Mean: h.mean(), P50: h.quantile(0.5), P95: h.quantile(0.95), P99: h.quantile(0.99)}
}
