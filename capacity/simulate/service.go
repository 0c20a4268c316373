package simulate

import (
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// A Busy is what a replica does with a request it can not serve now.
type Busy uint8

const (
	// Answer503 says unavailable. Proxies take it for a broken replica.
	Answer503 Busy = iota

	// Answer429 says too many requests. A proxy takes it for a sign of life.
	Answer429

	// Wait puts the request into the queue; when the queue is full, the answer is
	// 429. It applies to warming only.
	Wait
)

// A Service is a set of equal replicas. A request enters a replica through its
// door, holds its place there while the client calls the upstream, and is
// answered when the client has an answer.
type Service struct {
	// Replicas is how many there are, all warm when the run starts. Required.
	Replicas int `yaml:"replicas"`

	// Zones spreads the replicas evenly over this many zones; the default is 1.
	Zones int `yaml:"zones"`

	// Door limits what a replica takes in; the default is no limit.
	Door Gate `yaml:"door"`

	// Client calls the upstream. Its Pool may be the only limit of the replica.
	Client Client `yaml:"client"`

	// Busy is the answer when a queue is full or a wait too long: Answer503, the
	// default, or Answer429.
	Busy Busy `yaml:"busy"`

	// StopsWhenAbandoned says that a replica drops a request whose caller has
	// gone. The default is to carry on, as a server does that ignores its
	// request's context.
	StopsWhenAbandoned bool `yaml:"stopsWhenAbandoned"`

	// Start is how long a new process takes until it runs, WarmUp how long its
	// pools take after that. Both are 0 by default.
	Start  time.Duration `yaml:"start"`
	WarmUp time.Duration `yaml:"warmUp"`

	// Warming is what a replica does with requests while it warms up.
	Warming Busy `yaml:"warming"`

	// Gated says that a replica is ready only when it is warm. The default is to
	// be ready as soon as the process runs.
	Gated bool `yaml:"gated"`

	// EndpointDelay is how long it takes until proxies have seen that a replica
	// became ready or is going. The default is 0.
	EndpointDelay time.Duration `yaml:"endpointDelay"`

	// PreStop is how long a replica that was told to go still takes requests;
	// after it, new ones are refused as by a closed port. The default is 0.
	PreStop time.Duration `yaml:"preStop"`

	// Grace is when a replica that was told to go is killed, PreStop included. The
	// default is Kubernetes' 30 s.
	Grace time.Duration `yaml:"grace"`

	// Liveness restarts replicas; the default is no probe.
	Liveness Liveness `yaml:"liveness"`
}

// Liveness restarts replicas that do not answer a probe in time. Its zero value
// never does.
type Liveness struct {
	// Period is the time between probes; 0 is no probe.
	Period time.Duration `yaml:"period"`

	// Timeout of one probe; the default is Kubernetes' 1 s.
	Timeout time.Duration `yaml:"timeout"`

	// Failures in a row that restart the replica; the default is Kubernetes' 3.
	Failures int `yaml:"failures"`

	// SharesPool sends the probe through the door, or the client's gate if the
	// door has no limit, so that it waits behind requests.
	SharesPool bool `yaml:"sharesPool"`

	// Restart is how long a killed process takes until it runs again; the default
	// is Service.Start.
	Restart time.Duration `yaml:"restart"`
}

// A Rollout replaces replicas as a Kubernetes Deployment does: it creates as many
// as MaxSurge allows, and takes an old one away whenever a new one is ready and
// at least Replicas − MaxUnavailable stay.
type Rollout struct {
	// Replicas is how many are replaced, oldest first; 0 is all. A rollout that
	// is paused half way, or one beside a replica of another Deployment, replaces
	// fewer.
	Replicas int `yaml:"replicas"`

	// MaxSurge and MaxUnavailable bound how many more and how many fewer than
	// Service.Replicas there may be. If both are zero, both are Kubernetes' default
	// of 25 %.
	MaxSurge       capacity.Pods `yaml:"maxSurge"`
	MaxUnavailable capacity.Pods `yaml:"maxUnavailable"`

	// MinReady is how long a new replica must be ready before it counts.
	MinReady time.Duration `yaml:"minReady"`
}

// A Slow is replicas that answer, but late: a neighbour takes their processor, or a
// disk is dying.
type Slow struct {
	// Replicas is how many of those that are there become slow, oldest first. Required.
	Replicas int `yaml:"replicas"`

	// By is how many times slower each request through them is. Required.
	By float64 `yaml:"by"`
}

// An Event changes something at a time. Any number of its fields may be set; nil
// and empty ones change nothing.
type Event struct {
	// At is the time since the start of the run, Settle included.
	At time.Duration `yaml:"at"`

	// Note is marked in the report; the default says what changes.
	Note string `yaml:"note"`

	// Latency, Limit, Errors and Hang replace those of the Upstream.
	Latency *Latency `yaml:"latency"`
	Limit   *int     `yaml:"limit"`
	Errors  *Share   `yaml:"errors"`
	Hang    *Share   `yaml:"hang"`

	// Wedge makes replicas take requests and never answer, Break makes them answer
	// 503 at once, Heal ends both and Slow. Replicas count from 1 in the order in which they
	// were created; one that is not there is left out.
	Wedge []int `yaml:"wedge"`
	Break []int `yaml:"break"`
	Heal  []int `yaml:"heal"`

	// Slow makes replicas slower than the others, the commonest fault of all. Heal,
	// or a Slow by 1, ends it.
	Slow *Slow `yaml:"slow"`

	// Restart kills these processes; Kubernetes starts them again.
	Restart []int `yaml:"restart"`

	// Rollout begins to replace replicas; one that runs still is abandoned for it.
	Rollout *Rollout `yaml:"rollout"`
}
