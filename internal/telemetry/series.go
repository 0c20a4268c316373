package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// durations is a histogram by method and outcome. It keeps the histogram of each
// pair at hand: a look-up by labels would cost more than the observation.
type durations struct {
	vec   *prometheus.HistogramVec
	cells [methods][Outcomes]atomic.Pointer[prometheus.Observer]
}

func newDurations(d definition, labels prometheus.Labels) *durations {
	return &durations{vec: prometheus.NewHistogramVec(histogram(d, labels), d.labels)}
}

func (s *durations) observe(m Method, o Outcome, d time.Duration) {
	cell := &s.cells[m][o]
	at := cell.Load()
	if at == nil {
		observer := s.vec.WithLabelValues(m.String(), o.String())
		at = &observer
		cell.Store(at)
	}
	(*at).Observe(d.Seconds())
}
