package simulate

import "time"

// A Pick is how a proxy chooses a replica.
type Pick uint8

const (
	// RoundRobin takes one after another.
	RoundRobin Pick = iota

	// Random takes any.
	Random

	// LeastRequest draws two at random, with replacement, and takes the one with
	// fewer requests of this proxy in flight.
	LeastRequest
)

// A Proxy stands beside each caller, as an Envoy sidecar does. Its zero value
// takes replicas in turn and does nothing else. Semantics are those of Envoy
// 1.28 and later unless a field says otherwise.
type Proxy struct {
	Pick Pick `yaml:"pick"`

	// Timeout bounds one attempt of the caller with all the proxy's tries; when it
	// fires, the proxy counts a 504 against the replica. 0 is none.
	Timeout time.Duration `yaml:"timeout"`

	// PerTry bounds one try in the same way; 0 is Timeout.
	PerTry time.Duration `yaml:"perTry"`

	// Retries is how many more tries the proxy makes; Istio's and Envoy's number,
	// which does not count the first. The default is 0.
	Retries int `yaml:"retries"`

	// RetryOn lists the answers that are tried again, of 429, 500, 502, 503 and
	// 504; the default is 502, 503 and 504, Envoy's gateway-error.
	RetryOn []int `yaml:"retryOn"`

	// RetryPercent is Envoy's retry budget: the most retries in flight as a
	// percentage of requests in flight. 0 is no budget.
	RetryPercent float64 `yaml:"retryPercent"`

	// MinRetries is how many retries may be in flight whatever the budget; the
	// default is Envoy's 3.
	MinRetries int `yaml:"minRetries"`

	// Backoff is the longest pause before the first retry, as in Callers. Envoy's
	// is 25 ms; the default here is 0.
	Backoff time.Duration `yaml:"backoff"`

	// MaxRequests is the breaker on requests in flight of one proxy; 0 is none.
	MaxRequests int `yaml:"maxRequests"`

	// PanicThreshold, in percent, is the share of healthy replicas under which the
	// proxy uses all of them; 0 never does. Envoy's default is 50, Istio's is 0.
	PanicThreshold float64 `yaml:"panicThreshold"`

	// ZoneFirst sends to replicas of the caller's own zone as long as enough are
	// healthy, as Istio does by default as soon as there is an outlier detector.
	ZoneFirst bool `yaml:"zoneFirst"`

	// Outlier ejects replicas that fail; nil never does.
	Outlier *Outlier `yaml:"outlier"`

	// HealthCheck asks replicas how they are; the default never does.
	HealthCheck HealthCheck `yaml:"healthCheck"`

	// LeaveOut makes a client of the proxy that knows its endpoints, as those of this
	// module do; nil does not. It goes with LeastRequest, and without Outlier.
	LeaveOut *LeaveOut `yaml:"leaveOut"`
}

// A CapRule is how an implementation reads MaxEjectionPercent.
type CapRule uint8

const (
	// CapFloor admits an ejection if the percentage after it is within the cap:
	// Envoy 1.28 and later. With few replicas that may be none.
	CapFloor CapRule = iota

	// CapAtLeastOne always admits the first: Envoy 1.27, and later ones with
	// always_eject_one_host.
	CapAtLeastOne

	// CapOvershoot admits an ejection if the percentage before it is under the cap:
	// Envoy up to 1.26.
	CapOvershoot
)

// An Outlier is Envoy's outlier detection. Each proxy has its own counters.
type Outlier struct {
	// Consecutive5xx errors in a row eject; the default is 5. Off disables it.
	Consecutive5xx Threshold `yaml:"consecutive5xx"`

	// ConsecutiveGateway counts 502, 503 and 504 only; 0 is off, as in Istio.
	ConsecutiveGateway int `yaml:"consecutiveGateway"`

	// SplitLocal keeps what the proxy itself saw (refused connections, timeouts)
	// apart from answers, and ejects for ConsecutiveLocal of it, 5 by default.
	SplitLocal       bool `yaml:"splitLocal"`
	ConsecutiveLocal int  `yaml:"consecutiveLocal"`

	// Interval between the sweeps that release replicas and evaluate rates; the
	// default is 10 s.
	Interval time.Duration `yaml:"interval"`

	// BaseEjection times the number of ejections so far is how long a replica is
	// out; the default is 30 s. MaxEjection bounds it; the default is the larger of
	// 300 s and BaseEjection. It is released at the first sweep after that.
	BaseEjection time.Duration `yaml:"baseEjection"`
	MaxEjection  time.Duration `yaml:"maxEjection"`

	// Jitter adds up to this much to each ejection; the default is 0.
	Jitter time.Duration `yaml:"jitter"`

	// MaxEjectionPercent of the replicas may be out at once; the default is 10.
	MaxEjectionPercent float64 `yaml:"maxEjectionPercent"`

	// CapRule reads MaxEjectionPercent.
	CapRule CapRule `yaml:"capRule"`

	// Observe counts what would be ejected and ejects nothing: Envoy's enforcing
	// percentages at 0.
	Observe bool `yaml:"observe"`

	// Enforcing is which share of its detections each detector acts on; the default is
	// all of them.
	Enforcing Enforcing `yaml:"enforcing"`

	// SuccessRate ejects by comparing success rates of replicas; nil is off, as in
	// Istio.
	SuccessRate *SuccessRate `yaml:"successRate"`

	// FailurePercentage ejects over an error rate; nil is off.
	FailurePercentage *FailurePercentage `yaml:"failurePercentage"`
}

// Enforcing is Envoy's enforcing percentages: the chance that a detection ejects.
// A nil one is 100 %, which is Istio's; note that Envoy's own default is 0 for the
// gateway and the failure percentage detectors.
type Enforcing struct {
	Consecutive5xx     *Share `yaml:"consecutive5xx"`
	ConsecutiveGateway *Share `yaml:"consecutiveGateway"`
	ConsecutiveLocal   *Share `yaml:"consecutiveLocal"`
	SuccessRate        *Share `yaml:"successRate"`
	FailurePercentage  *Share `yaml:"failurePercentage"`
}

// A SuccessRate detector ejects replicas whose success rate is under the mean of
// all minus StdevFactor standard deviations.
type SuccessRate struct {
	// MinHosts with at least Volume requests in an interval are needed; the
	// defaults are 5 and 100.
	MinHosts int `yaml:"minHosts"`
	Volume   int `yaml:"volume"`

	// StdevFactor; the default is 1.9.
	StdevFactor float64 `yaml:"stdevFactor"`
}

// A FailurePercentage detector ejects replicas that fail at least Threshold
// percent of the requests of an interval.
type FailurePercentage struct {
	// Threshold in percent; the default is 85.
	Threshold float64 `yaml:"threshold"`

	// MinHosts with at least Volume requests in an interval are needed; the
	// defaults are 5 and 50.
	MinHosts int `yaml:"minHosts"`
	Volume   int `yaml:"volume"`
}
