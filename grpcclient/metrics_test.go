package grpcclient

import (
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// series sums a metric over the series that have the given labels: the value of a
// counter or gauge, or the count and the
// sum of a histogram, to the microsecond.
func series(t *testing.T, r *prometheus.Registry, name string, labels map[string]string) (count uint64, sum float64) {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatalf("Gather() = %v, want nil", err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
	metrics:
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if want, asked := labels[l.GetName()]; asked && want != l.GetValue() {
					continue metrics
				}
			}
			count += m.GetHistogram().GetSampleCount()
			sum += m.GetHistogram().GetSampleSum() + m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return count, math.Round(sum*1e6) / 1e6
}

// wantCalls checks how many calls had an outcome.
func wantCalls(t *testing.T, r *prometheus.Registry, outcome string, want uint64) {
	t.Helper()
	if got, _ := series(t, r, "offtake_client_request_duration_seconds", map[string]string{"outcome": outcome}); got != want {
		t.Errorf("calls with outcome %q = %d, want %d", outcome, got, want)
	}
}
