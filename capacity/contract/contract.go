package contract

import (
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// A Contract is what one service has agreed with its callers and its upstreams, in
// one environment. [Load] makes it; treat it as read-only, then goroutines may
// share it.
type Contract struct {
	// Service is the name of the service, as its Deployment and its host in the
	// mesh have it. Required.
	Service string `yaml:"service,required"`

	// Replicas is how many there are, at rest and in a rollout. Required.
	Replicas Replicas `yaml:"replicas,required"`

	// Callers are the services that call this one, by name.
	Callers map[string]Caller `yaml:"callers"`

	// Door is the service's own limit on what it takes in.
	Door *Door `yaml:"door"`

	// Start is what happens between a process's first instruction and its first
	// good answer.
	Start Start `yaml:"start"`

	// Stop is how a process ends.
	Stop Stop `yaml:"stop"`

	// Observe has no limit of the service applied: all is counted as if. For the first
	// days; the default is false.
	Observe bool `yaml:"observe"`

	// Admin is the address of the probes and the metrics, such as ":8081".
	Admin string `yaml:"admin"`

	// Upstreams are the services that this one calls, by name.
	Upstreams map[string]Upstream `yaml:"upstreams"`

	// Mesh is what the manifests do not say about the proxies around the service.
	Mesh Mesh `yaml:"mesh"`

	// Alerts are expressions and thresholds that watch this service.
	Alerts map[string]Alert `yaml:"alerts"`

	// Ignore lists findings of the check that are known and accepted for a while.
	Ignore []Ignore `yaml:"ignore"`

	// Environment is the overlay that was applied; "" for none.
	Environment string `yaml:"-"`

	places  places
	targets map[string]string // as the file has them: see Target
}

// Replicas is the number of pods of the service.
type Replicas struct {
	// Min is the least number that the peak can meet. Required.
	Min int `yaml:"min,required"`

	// Max is the most that an autoscaler may run; the default is Min.
	Max int `yaml:"max"`

	// Surge is the rolling update's maxSurge, a number of pods or a percentage. The
	// default is none.
	Surge capacity.Pods `yaml:"surge"`

	// Unavailable is the rolling update's maxUnavailable. The default is none.
	Unavailable capacity.Pods `yaml:"unavailable"`

	// Draining is how many replaced pods still hold their connections while new
	// ones run.
	Draining int `yaml:"draining"`
}

// A Caller is one service that calls this one.
type Caller struct {
	// Rate is its peak rate.
	Rate Rate `yaml:"rate"`

	// Deadline is when it gives up on a call. The upstreams' plans keep within the
	// shortest.
	Deadline time.Duration `yaml:"deadline"`

	// Attempts is the most times it sends one call; the default is 1.
	Attempts int `yaml:"attempts"`

	// Replicas is how many pods, and so how many proxies, it calls from.
	Replicas int `yaml:"replicas"`

	// Zones is the share of its calls that starts in each zone.
	Zones map[string]Share `yaml:"zones"`
}

// A Door is the limit on what one replica of the service takes in.
type Door struct {
	// InFlight is how many requests may be inside at once. Required.
	InFlight int `yaml:"inFlight,required"`

	// Queue is how many may wait for a place, or "none"; the default is InFlight.
	Queue Queue `yaml:"queue"`

	// Wait is the longest wait for a place; the default is 100ms or less.
	Wait time.Duration `yaml:"wait"`

	// Deadline is the longest a request may take; the default is 10s.
	Deadline time.Duration `yaml:"deadline"`

	// Latency is the mean time that a request is inside.
	Latency time.Duration `yaml:"latency"`

	// Busy is the answer when the queue is full; the default is 429.
	Busy Answer `yaml:"busy"`

	// Probes says whether the probes wait behind requests ("shared") or not
	// ("separate", the default).
	Probes Probes `yaml:"probes"`
}

// Start is how a new process begins.
type Start struct {
	// Time is how long the process takes until it listens.
	Time time.Duration `yaml:"time"`

	// Warm is how long its pools take to fill after that.
	Warm time.Duration `yaml:"warm"`

	// Answers is what requests get meanwhile: a status, or "queue". The default is
	// "queue", bounded by the door.
	Answers Answer `yaml:"answers"`

	// Ready says when the readiness probe passes: when the pools are warm ("gate",
	// the default) or when the process lives ("process").
	Ready Ready `yaml:"ready"`

	// Spread bounds the random wait before a replica begins to warm; the default is
	// 10ms for each replica, and 2s at the most.
	Spread time.Duration `yaml:"spread"`

	// Early is how long a request may wait that comes before the service is ready; the
	// default is 2s.
	Early time.Duration `yaml:"early"`

	// OpenDegraded is when readiness opens although a required upstream is not warm;
	// the default is 30s, or twice Warm if that is more.
	OpenDegraded time.Duration `yaml:"openDegraded"`
}

// Stop is how a process ends.
type Stop struct {
	// Drain is how long running requests may take to finish; the default is the
	// longest deadline of the plans.
	Drain time.Duration `yaml:"drain"`
}

// An Upstream is one service that this one calls.
type Upstream struct {
	// Target is where it is: https://host or http://host, or for grpc grpcs://host:port,
	// grpc://host:port in plaintext, or host:port, which is TLS. ${CARD_ADDR} in it is taken from
	// the environment where the service runs, and ${CARD_ADDR:-https://card.example} has a
	// default. Required.
	Target string `yaml:"target,required"`

	// Hosts lists further hosts of the same upstream.
	Hosts []string `yaml:"hosts"`

	// Protocol is http1, the default, http2 or grpc.
	Protocol Protocol `yaml:"protocol"`

	// Rate is the peak rate of all replicas together. Required unless InFlight is
	// stated.
	Rate Rate `yaml:"rate"`

	// Latency is the mean time to the end of the body. Either it or both of P50 and
	// P99 are required beside Rate.
	Latency time.Duration `yaml:"latency"`

	// P50 is the median of the time to the end of the body. It needs P99.
	P50 time.Duration `yaml:"p50"`

	// P99 is the 99th percentile of the same time. It needs P50.
	P99 time.Duration `yaml:"p99"`

	// Degraded is the mean latency that the service promises to survive.
	Degraded time.Duration `yaml:"degraded"`

	// Headroom is which multiple of the peak there must be places for; the default
	// is 2.
	Headroom float64 `yaml:"headroom"`

	// WaitChance is the chance that a call at peak waits for a place; the default
	// is 5%, as far as the limit allows.
	WaitChance Share `yaml:"waitChance"`

	// Limit is how many connections the upstream allows to all replicas together; if
	// absent, there are places for ten times the latency, and 64 at the least.
	Limit int `yaml:"limit"`

	// Streams is how many requests share one connection; the default is 1 for http1,
	// and 100 for http2 and grpc, which is what their clients assume until the
	// upstream has stated its limit.
	Streams int `yaml:"streams"`

	// InFlight is how many calls one replica may have out at once. It states by hand
	// what is derived by default, and so does each key down to BodyIdle.
	InFlight int `yaml:"inFlight"`

	// Connections is how many one replica opens; the default is as many as InFlight
	// needs.
	Connections int `yaml:"connections"`

	// Queue is how many calls may wait for a place, or "none"; the default is as many
	// as get one within Wait.
	Queue Queue `yaml:"queue"`

	// Wait is the longest wait for a place; the default is the least of a quarter of
	// Attempt, half of what Deadline leaves, and ten times the mean latency.
	Wait time.Duration `yaml:"wait"`

	// Deadline bounds a call with its attempts and body; the default is nine tenths
	// of the shortest caller's.
	Deadline time.Duration `yaml:"deadline"`

	// Attempt bounds one attempt up to its response headers; by default a call that may
	// not be repeated has all the time for its only one.
	Attempt time.Duration `yaml:"attempt"`

	// Attempts is the most times one call is sent if it may be repeated, the first
	// included; the default is 2 if there is time and there are places for it.
	Attempts int `yaml:"attempts"`

	// RetryShare is the most retries as a share of requests; the default is 10%.
	RetryShare Share `yaml:"retryShare"`

	// BodyIdle is the longest a body may go without progress.
	BodyIdle time.Duration `yaml:"bodyIdle"`

	// Warm is how connections are opened before the service is ready.
	Warm Warm `yaml:"warm"`

	// Idempotent says that every call may be repeated, by its nature or by a key; by
	// default a call's method decides.
	Idempotent bool `yaml:"idempotent"`

	// Busy is what the upstream answers when it is overloaded.
	Busy Answer `yaml:"busy"`

	// Host is its host in the mesh's manifests; the default is Target's.
	Host string `yaml:"host"`

	// Replicas is how many pods stand behind it, if the manifests do not say.
	Replicas int `yaml:"replicas"`

	// ServerIdle is when the upstream closes an idle connection.
	ServerIdle time.Duration `yaml:"serverIdle"`

	// Client describes a client that is not one of this module's, as it is
	// configured today.
	Client *Client `yaml:"client"`

	// Canary is the traffic that a release is tried with.
	Canary *Canary `yaml:"canary"`
}

// Warm is how an upstream is warmed.
type Warm struct {
	// Path is requested on each connection that is opened, for HTTP, and must answer
	// below 400; "*" sends OPTIONS *, and takes any answer. Without it connections are
	// only opened, and nothing is asked of them: not every upstream has a path that is
	// cheap and safe.
	Path string `yaml:"path"`

	// Connections is how many must stand.
	Connections int `yaml:"connections"`

	// Time is how long warming takes.
	Time time.Duration `yaml:"time"`

	// Optional says that the service is ready without it.
	Optional bool `yaml:"optional"`
}

// A Client is the configuration of an HTTP client that sizes nothing by itself.
// What it leaves out has the zero meaning of net/http: no limit and no timeout.
type Client struct {
	// MaxConns is MaxConnsPerHost; 0 is no limit.
	MaxConns int `yaml:"maxConns"`

	// MaxIdle is MaxIdleConnsPerHost; 0 is Go's default of 2.
	MaxIdle int `yaml:"maxIdle"`

	// Timeout bounds a call; absent, nothing does.
	Timeout time.Duration `yaml:"timeout"`

	// IdleTimeout closes an idle connection; 0 is 90s, that of Go's default
	// transport.
	IdleTimeout time.Duration `yaml:"idleTimeout"`
}

// A Canary is a part of the service that gets a new release first.
type Canary struct {
	// Rate is the requests that reach the canary.
	Rate Rate `yaml:"rate,required"`

	// Latency is what the upstream takes meanwhile, on average.
	Latency time.Duration `yaml:"latency,required"`

	// InFlight is how many places all of the canary's replicas have.
	InFlight int `yaml:"inFlight,required"`
}

// Mesh is the proxies around the service.
type Mesh struct {
	// ControlPlane is istio, envoy, envoy-gateway, contour, consul or grpc.
	ControlPlane ControlPlane `yaml:"controlPlane"`

	// Version is the control plane's, such as "1.29" or "1.28.9".
	Version string `yaml:"version"`

	// PanicThreshold overrides what the control plane would set, as an EnvoyFilter
	// does.
	PanicThreshold *Share `yaml:"panicThreshold"`

	// Unready is how many hosts of the service may be unhealthy for other reasons
	// than ejection, in the set that the panic threshold counts.
	Unready int `yaml:"unready"`

	// Fault is how long the fault lasts that an ejection must bridge.
	Fault time.Duration `yaml:"fault"`

	// Propagation is how long it takes until all proxies know that a pod has gone;
	// the default is 5s.
	Propagation time.Duration `yaml:"propagation"`

	// Zones is how many zones the service runs in.
	Zones int `yaml:"zones"`
}

// An Alert watches the service.
type Alert struct {
	// Expr is its PromQL expression.
	Expr string `yaml:"expr"`

	// Latency is its threshold, if it watches a latency.
	Latency time.Duration `yaml:"latency"`

	// Cliff is the p95 just before saturation, from a load test.
	Cliff time.Duration `yaml:"cliff"`
}

// An Ignore accepts a finding for a while.
type Ignore struct {
	// Rule is its ID, such as C05.
	Rule string `yaml:"rule,required"`

	// Subject is the upstream, caller or manifest that it is about; the default is
	// every one.
	Subject string `yaml:"subject"`

	// Reason is why it is accepted. Required.
	Reason string `yaml:"reason,required"`

	// Expires is the last day on which it is, as 2006-01-02. Required.
	Expires Date `yaml:"expires,required"`
}
