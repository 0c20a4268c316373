package simulate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/simulate"
)

// A rollout at peak loses no order: as a test of one's own service, with its own
// numbers.
func Example() {
	demand := capacity.Demand{Rate: 120, Latency: 300 * time.Millisecond, Replicas: 6, Limit: 200, Surge: capacity.Pods{Percent: 25}}
	plan, err := demand.Plan()
	if err != nil {
		panic(err)
	}
	s, err := simulate.Peak(demand, plan)
	if err != nil {
		panic(err)
	}
	s.Service.Start, s.Service.WarmUp = 12*time.Second, 8*time.Second
	s.Events = []simulate.Event{{At: 3 * time.Minute, Rollout: &simulate.Rollout{MaxSurge: demand.Surge}}}
	r, err := simulate.Run(context.Background(), s, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("orders lost:", r.Calls.Ended-r.Calls.Served)
	// Output:
	// orders lost: 0
}

// Without the gate, replicas take orders while their pools fill.
func ExampleRepeat() {
	s := simulate.Scenario{
		Duration: 5 * time.Minute,
		Callers:  simulate.Callers{Rate: 100, Timeout: 2 * time.Second},
		Service: simulate.Service{
			Replicas: 4, Start: 10 * time.Second, WarmUp: 5 * time.Second, PreStop: time.Second,
			Client: simulate.Client{Pool: simulate.Gate{Places: 20}, Deadline: time.Second},
		},
		Upstream: simulate.Upstream{Latency: simulate.Latency{P50: 80 * time.Millisecond, P99: 400 * time.Millisecond}},
		Events:   []simulate.Event{{At: time.Minute, Rollout: &simulate.Rollout{}}},
	}
	lost := func(r *simulate.Result) float64 { return float64(r.Calls.Failed[simulate.WarmingReplica]) }
	for _, gated := range []bool{false, true} {
		s.Service.Gated = gated
		results, err := simulate.Repeat(context.Background(), s, 5, nil)
		if err != nil {
			panic(err)
		}
		spread := simulate.Over(results, lost)
		fmt.Printf("gated %t: orders lost in every run: %t, in any: %t\n", gated, spread.Min > 0, spread.Max > 0)
	}
	// Output:
	// gated false: orders lost in every run: true, in any: true
	// gated true: orders lost in every run: false, in any: false
}
