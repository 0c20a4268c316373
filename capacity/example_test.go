package capacity_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func ExampleDemand_Plan() {
	demand := capacity.Demand{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200, Headroom: 1.3, Deadline: 5 * time.Second}
	plan, err := demand.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan)
	// Output:
	// 33 places in flight on 33 connections, queue 7, wait 225ms, deadline 4.5s, attempt 4.05s, body idle 4.5s, 1 attempt, retry share 0.1, 33 warm, for 20/s of 1.2s
}

func ExampleDemand_Explain() {
	demand := capacity.Demand{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200, Headroom: 1.3, Deadline: 5 * time.Second}
	x, err := demand.Explain()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(x)
	// Output:
	// InFlight     33     at least 32 (1.3 × 120/s × 1.2s / 6 replicas), at most 33 (limit 200 / 6)      the limit decides; 5.56 % of calls wait at peak; full at a mean of 1.65s, 1.38 × the stated one
	// Connections  33     33 places / 1 per connection                                                   no fewer than the places need, no more than they use
	// Warm         33     24 + 2√24 = 33.8 in flight at peak                                             all Connections
	// Rate         20/s   120/s / 6 replicas                                                             the peak of one replica
	// Latency      1.2s   the mean that the demand states                                                what live calls are compared with
	// Deadline     4.5s   9/10 × 5s                                                                      the caller gives up at 5s
	// Attempt      4.05s  9/10 × 4.5s / 1 attempt                                                        3.42 % of calls take longer, if exponential
	// Once         4.05s  9/10 × 4.5s                                                                    for a call that may not be repeated
	// Attempts     1      two if each can have the p99, and retries have places                          2.025s would be left for each, p99 is 5.526s
	// Wait         225ms  the least of half the spare Deadline, a quarter of Attempt, and 10 × the mean  the rest is for pauses and the body
	// Queue        7      27.5 places come free a second × 225ms                                         a longer queue would hold calls that can not be served within Wait
	// RetryShare   0.1    the default                                                                    nothing is sent twice
	// BodyIdle     4.5s   the smaller of 5s and Deadline                                                 a body without progress gives its place back
}

func ExampleInfeasible() {
	demand := capacity.Demand{
		Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200,
		Surge: capacity.Pods{Percent: 25}, Unavailable: capacity.Pods{Percent: 25},
	}
	_, err := demand.Plan()
	infeasible, ok := errors.AsType[*capacity.Infeasible](err)
	if !ok {
		fmt.Println(err)
		return
	}
	fmt.Print(infeasible.Explain())
	fmt.Println(err)
	plan, short, err := infeasible.Best()
	fmt.Printf("best: %d places, %.4g/s, %.1f %% refused at %g times the peak (%v)\n", plan.InFlight, short.Carried, 100*short.Refused, infeasible.Demand.Headroom, err)
	// Output:
	// INFEASIBLE: no number of places per replica satisfies the demand
	//   needs   >= 48 (2 × 120/s × 1.2s / 6 replicas); 29 while 1 is unavailable (120/s × 1.2s / 5 serving)
	//   allows  <= 33 (limit 200 / 6); 25 while 2 surge pods run (limit 200 / 8)
	//   at 33:  165/s = 1.375 × peak, 31.3 % of 2 × peak must be refused
	//   at 25:  125/s = 1.042 × peak, 48.0 % of 2 × peak must be refused
	// levers at 2 × the peak, any one, if the replicas share one limit:  limit >= 288 | mean latency <= 0.833 s | rate <= 166.7/s | refuse >= 30.6 %
	// with the limit divided among them in whole places: limit >= 384 | mean latency <= 0.625 s | rate <= 125/s | refuse >= 48.0 %
	// 1 × peak, no rollout: [24, 33]; at 33 5.56 % of calls wait
	// 1 × peak, in a rollout: floor 29 > ceiling 25; maxSurge 1 and maxUnavailable 0 allow [24, 28]
	// capacity: infeasible: at least 48 (2 × 120/s × 1.2s / 6 replicas) places per replica are needed and at most 25 while 2 surge pods run (limit 200 / 8) are allowed; 1.389 × the peak is the most, or at 2 × the peak any one of: limit >= 288 | mean latency <= 0.833 s | rate <= 166.7/s | refuse >= 30.6 %; with the limit divided in whole places: limit >= 384 | mean latency <= 0.625 s | rate <= 125/s | refuse >= 48.0 %
	// best: 25 places, 125/s, 47.9 % refused at 2 times the peak (<nil>)
}
