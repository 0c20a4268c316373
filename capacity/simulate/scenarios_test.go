package simulate

import (
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// incident is the payment gateway: 6 replicas with places each, 120 orders a
// second, an upstream of 1.2 s.
func incident(places, attempts int, duration time.Duration) Scenario {
	return Scenario{
		Name: "payment gateway", Settle: time.Minute, Duration: duration,
		Callers:  Callers{Rate: 120, Attempts: attempts, Timeout: 8 * time.Second},
		Proxy:    Proxy{Pick: Random},
		Service:  Service{Replicas: 6, Busy: Answer429, Client: Client{Pool: Gate{Places: places, Queue: Unbounded}, Deadline: 10 * time.Second}},
		Upstream: Upstream{Latency: Latency{Mean: 1200 * time.Millisecond, CV: 1}},
	}
}

// panicRollout is the rollout of 24 replicas that answer 503 for 8 s, with one
// that is wedged, behind a detector that may eject all of them.
func panicRollout(rate float64) Scenario {
	return Scenario{
		Name: "24 replicas", Settle: 30 * time.Second, Duration: 450 * time.Second,
		Callers: Callers{Rate: Rate(rate), Count: 4, Timeout: time.Minute},
		Proxy: Proxy{
			Timeout: 30 * time.Second, PanicThreshold: 50,
			Outlier: &Outlier{ConsecutiveGateway: 3, MaxEjectionPercent: 100},
		},
		Service: Service{
			Replicas: 24, Door: Gate{Places: 8, Queue: 128}, Client: Client{Deadline: time.Minute},
			Start: 12500 * time.Millisecond, WarmUp: 8 * time.Second,
			EndpointDelay: 500 * time.Millisecond, PreStop: 5 * time.Second,
		},
		Upstream: Upstream{Latency: Latency{Mean: 200 * time.Millisecond, CV: 0.5}},
		Events: []Event{
			{At: time.Minute, Wedge: []int{24}},
			{At: 2 * time.Minute, Rollout: &Rollout{Replicas: 23, MaxSurge: capacity.Pods{Percent: 25}}},
		},
	}
}

func run(t *testing.T, s Scenario, seed uint64) *Result {
	t.Helper()
	r, err := Run(t.Context(), s, &Options{Seed: seed})
	if err != nil {
		t.Fatalf("Run(%s): %v", s.Name, err)
	}
	return r
}
