package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// waits is a histogram of waits, of which nearly all are none at all. Those are
// counted beside it, and put in when it is read.
//
// It is tempting to observe a zero like any other time. But an observation writes
// to several cache lines, which the cores then take from each other, and a call has
// up to three such waits: BenchmarkNoWait has both.
type waits struct {
	prometheus.Histogram
	none atomic.Uint64
}

// newWaits makes one that is never reset, as other histograms are once they have
// too many native buckets: what is counted beside it would stay. Its native buckets
// become wider instead.
func newWaits(d definition, labels prometheus.Labels) waits {
	opts := histogram(d, labels)
	opts.NativeHistogramMinResetDuration = 0
	return waits{Histogram: prometheus.NewHistogram(opts)}
}

func (w *waits) observe(d time.Duration) {
	if d <= 0 {
		w.none.Add(1)
		return
	}
	w.Observe(d.Seconds())
}

// Collect implements prometheus.Collector.
func (w *waits) Collect(out chan<- prometheus.Metric) { out <- w }

// Write implements prometheus.Metric. Every classic bucket is cumulative, and the
// first one's bound is 0.
func (w *waits) Write(out *dto.Metric) error {
	if err := w.Histogram.Write(out); err != nil {
		return err
	}
	none, h := w.none.Load(), out.Histogram
	*h.SampleCount += none
	*h.ZeroCount += none
	for _, b := range h.Bucket {
		*b.CumulativeCount += none
	}
	return nil
}
