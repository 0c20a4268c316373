package httpclient

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// sample is one series of a client's metrics.
type sample struct {
	name   string // without its prefix
	labels map[string]string
	value  float64 // of a counter or gauge
	n      uint64  // of a histogram,
	sum    float64 // in seconds
}

// samples reads the metrics of a client that newClient has made.
func samples(t *testing.T, c *Client) []sample {
	t.Helper()
	families, err := c.core.options.Registerer.(*prometheus.Registry).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []sample
	for _, f := range families {
		for _, m := range f.GetMetric() {
			s := sample{
				name: f.GetName()[len("offtake_client_"):], labels: make(map[string]string),
				value: m.GetCounter().GetValue() + m.GetGauge().GetValue(),
				n:     m.GetHistogram().GetSampleCount(), sum: m.GetHistogram().GetSampleSum(),
			}
			for _, l := range m.GetLabel() {
				s.labels[l.GetName()] = l.GetValue()
			}
			all = append(all, s)
		}
	}
	return all
}

// wantWaits compares a histogram's count and sum, which are exact in a bubble.
func wantWaits(t *testing.T, c *Client, name string, n uint64, sum float64) {
	t.Helper()
	var gotN uint64
	var got float64
	for _, s := range samples(t, c) {
		if s.name == name+"_seconds" {
			gotN += s.n
			got += s.sum
		}
	}
	if gotN != n || got < sum-1e-9 || got > sum+1e-9 {
		t.Errorf("%s = %d waits of %.3fs in all, want %d of %.3fs", name, gotN, got, n, sum)
	}
}

// count adds up the series of a name that have the value for any label; all of
// them for "". A histogram counts its samples.
func count(t *testing.T, c *Client, name, value string) (sum float64) {
	t.Helper()
	for _, s := range samples(t, c) {
		matches := value == ""
		for _, v := range s.labels {
			matches = matches || v == value
		}
		if s.name == name && matches {
			sum += s.value + float64(s.n)
		}
	}
	return sum
}

func wantCount(t *testing.T, c *Client, name, value string, want float64) {
	t.Helper()
	if got := count(t, c, name, value); got != want {
		t.Errorf("%s{%s} = %v, want %v", name, value, got, want)
	}
}
