package telemetry

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

func TestWaitsReadAsAPlainHistogramWould(t *testing.T) {
	w := newWaits(clientQueueWait, nil)
	opts := histogram(clientQueueWait, nil)
	opts.NativeHistogramMinResetDuration = 0
	plain := prometheus.NewHistogram(opts)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		if i%500 == 0 {
			if got, want := gathered(t, &w), gathered(t, plain); !proto.Equal(got, want) {
				t.Fatalf("after %d waits:\n%v\nwant\n%v", i, got, want)
			}
		}
		var d time.Duration
		if random.IntN(3) == 0 {
			d = time.Duration(random.ExpFloat64() * float64(10*time.Millisecond))
		}
		w.observe(d)
		plain.Observe(d.Seconds())
	}
}

// gathered is what a registry makes of a collector, without the time it was made.
func gathered(t *testing.T, c prometheus.Collector) *dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	families, err := r.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("Gather() = %v, %v, want one family", families, err)
	}
	families[0].Metric[0].Histogram.CreatedTimestamp = nil
	return families[0]
}

// BenchmarkNoWait is the wait of a call that did not wait, on all cores at once.
func BenchmarkNoWait(b *testing.B) {
	plain := prometheus.NewHistogram(histogram(clientQueueWait, nil))
	w := newWaits(clientQueueWait, nil)
	for _, bm := range []struct {
		name    string
		observe func()
	}{
		{"observed", func() { plain.Observe(0) }},
		{"counted beside", func() { w.observe(0) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					bm.observe()
				}
			})
		})
	}
}
