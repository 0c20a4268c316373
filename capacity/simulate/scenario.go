package simulate

import (
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// A Scenario is everything a run needs but its seed. It is plain data: [Run] does
// not change it, and goroutines may share it.
//
// Its zero fields stand for what a service has that never thought of them: no
// budget, no bound, no detector. That is not so in a capacity.Plan, where zero is
// a safe default: a simulation must be able to say what is.
type Scenario struct {
	// Name heads the report.
	Name string

	// Settle is how long the system runs before anything counts, so that a run
	// does not measure its own empty start. Default 0.
	Settle time.Duration

	// Duration is how long is measured, after Settle. Required.
	Duration time.Duration

	Callers  Callers
	Proxy    Proxy
	Service  Service
	Upstream Upstream

	// Events happen in the order of their times; those with the same time in the
	// order of the slice.
	Events []Event
}

// Callers are the programs that call the service, such as a checkout.
type Callers struct {
	// Rate is how many new calls per second all callers make together, in a
	// Poisson stream. Required unless Load is given.
	Rate Rate `yaml:"rate"`

	// Load replaces Rate by a rate that changes: it is interpolated between the
	// points and holds before the first and after the last. Two points at the same
	// time are a step, so steps, ramps, spikes and a recorded series are all Load.
	Load []Point `yaml:"load"`

	// Even spaces the calls evenly instead of at random, as a load generator does.
	Even bool `yaml:"even"`

	// Count is how many callers there are, each with a proxy of its own that learns
	// alone which replicas are bad. The default is 1.
	Count int `yaml:"count"`

	// ZoneShares places the callers: share i of them in zone i. The default puts
	// the same number in each zone of the service.
	ZoneShares []Share `yaml:"zoneShares"`

	// Timeout bounds one attempt. Required.
	Timeout time.Duration `yaml:"timeout"`

	// Deadline bounds a call with all its attempts; 0 bounds it by Attempts
	// timeouts only.
	Deadline time.Duration `yaml:"deadline"`

	// Attempts is how often a call is sent at most, the first included. The
	// default is 1.
	Attempts int `yaml:"attempts"`

	// RetryShare is the most retries as a share of calls; 0 is no budget.
	RetryShare Share `yaml:"retryShare"`

	// RetryBusy also retries an answer of 429.
	RetryBusy bool `yaml:"retryBusy"`

	// Backoff is the longest pause before the first retry; it doubles for each
	// further one, and each pause is drawn between 0 and it. 0 retries at once.
	Backoff time.Duration `yaml:"backoff"`
}

// A Point is the rate of calls, in calls per second, at one time of the run.
type Point struct {
	At   time.Duration `yaml:"at"`
	Rate Rate          `yaml:"rate"`
}

// A Gate is a number of places with a queue for them.
type Gate struct {
	// Places is how many requests may be inside at once; 0 is no limit, and then no
	// other field counts.
	Places int `yaml:"places"`

	// Queue is how many may wait. The default is Places, capacity.NoQueue is none,
	// and Unbounded is no bound.
	Queue Queue `yaml:"queue"`

	// Wait is the longest wait; 0 is as long as the request lives.
	Wait time.Duration `yaml:"wait"`

	// LastIn serves the newest waiter first. The default is the oldest.
	LastIn bool `yaml:"lastIn"`

	// Observe counts refusals but lets everyone in.
	Observe bool `yaml:"observe"`
}

// A Client is how one replica calls the upstream.
type Client struct {
	// Pool is its places: connections for HTTP/1.1.
	Pool Gate `yaml:"pool"`

	// Deadline bounds a call with its wait and all attempts. Required.
	Deadline time.Duration `yaml:"deadline"`

	// Attempt bounds one attempt from when it has a place; 0 is Deadline.
	Attempt time.Duration `yaml:"attempt"`

	// Attempts is how often a call is sent at most; the default is 1.
	Attempts int `yaml:"attempts"`

	// RetryShare is the most retries as a share of calls; 0 is no budget.
	RetryShare Share `yaml:"retryShare"`

	// Backoff is the longest pause before the first retry, as in Callers.
	Backoff time.Duration `yaml:"backoff"`
}

// ClientOf returns the client that plan describes. It fails if the plan does not
// resolve.
func ClientOf(plan capacity.Plan) (Client, error) {
	p, err := plan.Resolve()
	if err != nil {
		return Client{}, err
	}
	return Client{
		Pool:       Gate{Places: p.InFlight, Queue: Queue(p.Queue), Wait: p.Wait},
		Deadline:   p.Deadline,
		Attempt:    p.Attempt,
		Attempts:   p.Attempts,
		RetryShare: Share(p.RetryShare),
		Backoff:    planBackoff,
	}, nil
}

// planBackoff is the longest first pause: Envoy's base interval, which is the
// most common one on the other side of a call.
const planBackoff = 25 * time.Millisecond

// An Upstream is what the service calls.
type Upstream struct {
	// Latency is how long an answer takes. Required.
	Latency Latency `yaml:"latency"`

	// Limit is how many requests it serves at once for all replicas together; what
	// is over it is refused at once. 0 is no limit.
	Limit int `yaml:"limit"`

	// Refusal is its answer over the limit: Answer503, the default, or Answer429.
	Refusal Busy `yaml:"refusal"`

	// Errors is the share of requests that it answers with an error at once.
	Errors Share `yaml:"errors"`

	// Hang is the share of requests that it never answers: one wedged host of ten
	// behind a round robin is 0.1.
	Hang Share `yaml:"hang"`
}
