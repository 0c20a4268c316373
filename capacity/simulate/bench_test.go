package simulate

import (
	"testing"
	"time"
)

// BenchmarkRollout is the incident of the 24 replicas at 70 % load: 450 s of 672
// requests per second. The target is a second.
func BenchmarkRollout(b *testing.B) { benchmark(b, panicRollout(672)) }

// BenchmarkGateway is the copied number: a queue that grows until its deadline.
func BenchmarkGateway(b *testing.B) { benchmark(b, incident(10, 2, 10*time.Minute)) }

// BenchmarkBare has neither detector nor queue: what the engine itself costs.
func BenchmarkBare(b *testing.B) {
	benchmark(b, Scenario{
		Duration: 10 * time.Minute,
		Callers:  Callers{Rate: 1000, Timeout: time.Second},
		Service:  Service{Replicas: 6, Client: Client{Pool: Gate{Places: 60}, Deadline: time.Second}},
		Upstream: Upstream{Latency: Latency{Exponential: 100 * time.Millisecond}},
	})
}

func benchmark(b *testing.B, s Scenario) {
	b.ReportAllocs()
	var events int64
	for b.Loop() {
		r, err := Run(b.Context(), s, nil)
		if err != nil {
			b.Fatal(err)
		}
		events += r.Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
}
