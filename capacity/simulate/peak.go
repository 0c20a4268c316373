package simulate

import (
	"cmp"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

const (
	// propagation is how long it takes until the proxies of a large mesh have all
	// seen that a replica comes or goes.
	propagation = 5 * time.Second

	// variation is the coefficient of variation of a latency of which only the mean
	// is known: that of the exponential latencies behind package capacity.
	variation = 1
)

// Peak returns the scenario in which all of the demand comes for ten minutes, to
// replicas with the plan and a gated start, and nothing goes wrong. It fails if
// the plan does not resolve.
//
// A test adds what is to go wrong, and what the service's own processes are like:
// Service.Start, WarmUp and Liveness.
func Peak(d capacity.Demand, p capacity.Plan) (Scenario, error) {
	client, err := ClientOf(p)
	if err != nil {
		return Scenario{}, err
	}
	return Scenario{
		Name: "peak", Settle: time.Minute, Duration: 10 * time.Minute,
		Callers: Callers{Rate: Rate(d.Rate), Timeout: cmp.Or(d.Deadline, 10*time.Second)},
		Service: Service{
			Replicas: d.Replicas, Client: client, Busy: Answer429, StopsWhenAbandoned: true,
			Warming: Wait, Gated: true,
			// Whoever drains takes requests until every proxy has looked away.
			EndpointDelay: propagation, PreStop: propagation,
		},
		Upstream: Upstream{Latency: latencyOf(d), Limit: d.Limit * max(1, d.Streams)},
	}, nil
}

func latencyOf(d capacity.Demand) Latency {
	if d.P50 != 0 {
		return Latency{P50: d.P50, P99: d.P99}
	}
	if d.Latency == 0 {
		return Latency{} // a demand that states its places need not state it
	}
	return Latency{Mean: d.Latency, CV: variation}
}
