package check

import (
	"maps"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// A World is the facts that rules work on, in one vocabulary, whether they come
// from the contract or from a manifest. Times are in seconds; 0 is unknown unless
// a field says otherwise.
type World struct {
	Contract *contract.Contract
	Manifest *manifest.Set
	Plane    contract.ControlPlane
	Version  string
	Eras     []Era

	// Calls go out to each upstream and come in from each caller.
	Calls []Call

	Service Service
	Mesh    Mesh

	now       time.Time
	namespace string
	hosts     []string // of all calls
	home      string   // the service's namespace, "" if none is known
	ambiguous []manifest.Problem

	// versions are the workloads behind the service, where none has its name.
	versions []*manifest.Object
}

// A Call is one way that requests take: a caller with its proxies, and the hosts it
// reaches.
type Call struct {
	// Name is the upstream, or "checkout to payment-gateway".
	Name    string
	Inbound bool
	Ref     manifest.Ref

	// Rate is the peak of all replicas, Mean, P99 and Degraded are latencies.
	Rate, Mean, P99, Degraded float64

	// Hosts are the least and the most pods that answer, Proxies those that call.
	Hosts   []int
	Proxies int

	// Deadline bounds a call in the calling program, Attempt one attempt of it;
	// Unbounded says that nothing does. Attempts is how many it makes.
	Deadline, Attempt float64
	Unbounded         bool
	Attempts          int

	// GRPC says that it is gRPC, whose grpc-timeout tells proxies the deadline.
	GRPC bool

	// RetryShare bounds the program's own retries; 0 is no budget.
	RetryShare float64

	Pool *Pool

	// Busy is what the called side answers when it is overloaded.
	Busy       contract.Answer
	Idempotent bool
	Upstream   *contract.Upstream // nil if inbound

	// Policy and Route are what proxies do on the way, the first where there are
	// several; nil if no manifest says.
	Policy *Policy
	Route  *Route
	ways   []way
	host   string // with its namespace, where one is known
}

// A Pool is the calling program's places in one replica.
type Pool struct {
	// Cap is how many requests may be out, 0 without a limit; Idle how many
	// connections are kept.
	Cap, Idle int

	// Queue is how many may wait; -1 without a bound.
	Queue int

	Connections, Streams  int
	IdleTimeout, Headroom float64

	// Foreign says that it is not one of ours, so that idle connections can be
	// fewer than places.
	Foreign bool
}

// A Policy is what a proxy does with the hosts of one service.
type Policy struct {
	Ref    manifest.Ref
	Object *manifest.Object
	Plane  contract.ControlPlane

	Detector *Detector

	// Panic is a threshold that the policy sets itself; nil if it follows from the
	// control plane.
	Panic     *int
	MinHealth int

	// The breaker of one proxy; 0 is unset.
	MaxConnections, MaxRequests, MaxPending, MaxRetries int

	ConnectTimeout float64
	Budget         *Budget

	// Locality is localityLbSetting.enabled, if it is set.
	Locality *bool

	// Distribution says that the Service of the hosts has a trafficDistribution.
	Distribution bool
}

// A Detector ejects hosts.
type Detector struct {
	// Consecutive5xx and Gateway are the errors in a row that eject; 0 is off.
	Consecutive5xx, Gateway, LocalOrigin int
	Split                                bool

	Interval, Base float64

	// Max is maxEjectionPercent as it takes effect, Stated as it is written; nil if
	// it is not.
	Max    int
	Stated *int

	// Codes replace the test for 5xx, if there are any.
	Codes []int

	// AlwaysOne lets the first ejection through whatever Max says.
	AlwaysOne bool

	// Fields are the keys that are written, Unknown those that do not exist.
	Fields, Unknown []string
	Ref             manifest.Ref
}

// A Budget bounds retries by a share of what is in flight.
type Budget struct {
	Percent *float64
	Min     int

	// InSubset says that the subset has a policy of its own, InPort that the port has
	// settings.
	InSubset, InPort bool

	// IsRate says that it was written as a rate: R07 judges its floor.
	IsRate bool
	Ref    manifest.Ref
}

// A Route is what a proxy does with one call.
type Route struct {
	Ref   manifest.Ref
	Plane contract.ControlPlane

	// Timeout bounds the call, PerTry one attempt; 0 is none. Implicit says that
	// nobody wrote the timeout.
	// Unknown that the implementation decides, which nothing names.
	Timeout, PerTry   float64
	Implicit, Unknown bool

	// Tries counts the first; Stated is the number as it is written, -1 if it is
	// not.
	Tries, Stated int
	On            string

	// to is where it leads; empty if it is the same for all clusters of a host.
	to []cluster
}

// A Service is the pods of the contract's service.
type Service struct {
	Name string
	Ref  manifest.Ref

	// Workload is the name of its Deployment, or what else it is.
	Workload string

	// Known says that a workload's manifest was found.
	Known bool

	// Min and Max are the replicas, Extra what a rollout adds to the most of them and
	// Missing what it takes from the least, Draining the replaced pods that still hold
	// connections.
	Min, Max, Extra, Missing, Draining int
	surge, unavailable                 capacity.Pods

	// runs are the least and the most replicas as manifests have them; nil if they do
	// not say.
	runs []int

	// AutoMax is the autoscaler's maxReplicas; 0 without one.
	AutoMax int
	AutoRef manifest.Ref

	// Start is how long a process takes until it listens, Warm its pools after that,
	// MinReady the pause before the next pod. Answers is what requests get while it
	// warms, and Gated says that none come before it is warm.
	Start, Warm, MinReady float64
	Answers               contract.Answer
	Gated                 bool

	Probes Probes

	// Grace is terminationGracePeriodSeconds, of which PreStop is slept away first.
	// Drains says that the preStop hook does something else.
	Grace, PreStop float64
	Drains         bool

	// Door is the service's own limit; nil if none is stated. Latency is how long a
	// request is inside, Util the share of places taken at peak, and Shared says that
	// probes wait behind requests.
	Door          *capacity.Plan
	DoorRef       manifest.Ref
	Latency, Util float64
	Shared        bool

	// Inclusion is which statistics its proxies export; nil if its pods do not say.
	Inclusion []string
	StatsRef  manifest.Ref
}

// Probes are those of the service's main container; nil if it has none.
type Probes struct {
	Readiness, Liveness, Startup *Probe
}

// A Probe asks a container how it is.
type Probe struct {
	Delay, Period, Timeout float64
	Failures               int
	Target                 string // "8080/healthz"
	Ref                    manifest.Ref
}

// Mesh is what holds for all calls.
type Mesh struct {
	// Panic is a threshold that the contract states, since no manifest shows it.
	Panic *int

	// Distribution says that some Service has a trafficDistribution.
	Distribution bool

	// Unready is how many hosts of the service are out for other reasons than
	// ejection.
	Unready int

	// Fault is how long the fault lasts that an ejection must bridge, Propagation
	// how long until all proxies know of a pod's going; in seconds.
	Fault, Propagation float64

	Zones int

	// Locality is the mesh's localityLbSetting.enabled, if it is set.
	Locality *bool

	// IsIstio says that some object of Istio was read.
	IsIstio bool
}

// NewWorld brings a contract and manifests together.
func NewWorld(c *contract.Contract, set *manifest.Set, o Options) *World {
	w := &World{Contract: c, Manifest: set, Plane: o.Plane, Version: o.Version, now: o.Now, namespace: o.Namespace}
	if w.now.IsZero() {
		w.now = time.Now()
	}
	if w.Plane == "" {
		w.Plane = c.Mesh.ControlPlane
	}
	if w.Version == "" {
		w.Version = c.Mesh.Version
	}
	w.findPlane()
	w.findVersion()
	w.readMesh()
	w.Eras = w.erasOf(w.Plane)
	w.readService()
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		w.Calls = append(w.Calls, w.outbound(name))
	}
	w.Calls = append(w.Calls, w.inbound()...)
	return w
}

// at is where the contract has a path.
func (w *World) at(path string) manifest.Ref {
	p := w.Contract.Position(path)
	return manifest.Ref{File: p.File, Line: p.Line}
}
