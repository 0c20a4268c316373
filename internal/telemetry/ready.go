package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	readyNow     = definition{"offtake_ready", "1 while the readiness gate is open, 0 before and after.", prometheus.GaugeValue, nil}
	readyWithout = definition{"offtake_ready_degraded", "1 if the process is open without what the check is about, 0 if not.", prometheus.GaugeValue, []string{"check"}}
	readyCheck   = definition{"offtake_ready_check_seconds", "Time from the start of warming until a check passed, or until now if it has not.", prometheus.GaugeValue, []string{"check"}}
)

// ReadyCheck is one condition of a readiness gate.
type ReadyCheck struct {
	Name     string
	Took     time.Duration
	Degraded bool
}

// Ready shows a readiness gate. The names of its checks are the program's own.
type Ready struct {
	registerer          prometheus.Registerer
	now, check, without *prometheus.Desc
	state               func() (open bool, checks []ReadyCheck)
}

// NewReady registers the metrics of the process's readiness gate. A second gate on
// the same registry is an error. State is read at each scrape.
func NewReady(registerer prometheus.Registerer, state func() (open bool, checks []ReadyCheck)) (*Ready, error) {
	r := &Ready{now: readyNow.desc(nil), check: readyCheck.desc(nil), without: readyWithout.desc(nil), state: state}
	var err error
	if r.registerer, err = register(registerer, (*readyCollector)(r), "readiness gate", "readiness"); err != nil {
		return nil, err
	}
	return r, nil
}

// Close takes the metrics off the registry.
func (r *Ready) Close() { r.registerer.Unregister((*readyCollector)(r)) }

// readyCollector is a Ready as Prometheus sees it.
type readyCollector Ready

// Describe implements prometheus.Collector.
func (r *readyCollector) Describe(out chan<- *prometheus.Desc) {
	out <- r.now
	out <- r.check
	out <- r.without
}

// Collect implements prometheus.Collector.
func (r *readyCollector) Collect(out chan<- prometheus.Metric) {
	open, checks := r.state()
	value := 0.0
	if open {
		value = 1
	}
	out <- prometheus.MustNewConstMetric(r.now, readyNow.kind, value)
	for _, c := range checks {
		out <- prometheus.MustNewConstMetric(r.check, readyCheck.kind, c.Took.Seconds(), c.Name)
		without := 0.0
		if c.Degraded {
			without = 1
		}
		out <- prometheus.MustNewConstMetric(r.without, readyWithout.kind, without, c.Name)
	}
}
