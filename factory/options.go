package factory

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/offtake-go/offtake/fleet"
	"github.com/offtake-go/offtake/httpclient"
)

// Options is how a service is wired. Nil, and every zero field, is a default that
// is safe; what is agreed with others is in the file.
type Options struct {
	// Environment names the overlay of the file; the default is none.
	Environment string

	// Address is where Run listens. The default is ":8080".
	Address string

	// Admin is a second address for probes and metrics, so that they do not even queue
	// for a connection with the traffic. The default is the file's admin. Without either,
	// /readyz and /livez are on Address, around the door, and /metrics is on Debug
	// alone.
	Admin string

	// Debug is the address of the debug page and of control, with probes and metrics
	// beside them. The default is "127.0.0.1:8082", which kubectl port-forward reaches and
	// nobody else does: the page names hosts and sizes. If another process has that
	// port, a warning says so. NoDebug is for none.
	Debug string

	// DebugHosts are names under which the debug page and control may be asked for, in
	// lower case, besides localhost and addresses. The default is none.
	DebugHosts []string

	// Observe has no limit applied, of the clients and the door: all is counted as if.
	// The default is the file's observe.
	Observe bool

	// Targets are where upstreams are, by name, in place of the file's targets, as for
	// a test.
	Targets map[string]string

	// Inbound bounds what the connections of callers may do.
	Inbound Inbound

	// HTTP is further options for the clients of single upstreams over HTTP, by name:
	// TLS, wrappers. Name, Registerer and the providers are set here for all.
	HTTP map[string]httpclient.Options

	// Protocols are what upstreams may speak besides HTTP: grpcfactory.Protocol for
	// gRPC, with the options of its clients. The default is none, and a file with
	// an upstream that needs one is a mistake that names it.
	Protocols []Protocol

	// Fleet follows limits that all replicas have together, by the name of the
	// upstream: its client then has the source's share for its plan, and the file's
	// changes do not resize it. Make each source with the plan of Contract.Plan, or
	// of the whole limit, as its package says.
	Fleet map[string]fleet.Source

	// Early is how long a request may wait that comes before the service is ready.
	// The default is the file's start.early, or 2 s.
	Early time.Duration

	// Spread bounds the random wait before a replica begins to warm. The default is
	// the file's start.spread, or 10 ms for each replica that the file allows, and 2 s at the most.
	Spread time.Duration

	// OpenDegraded is when readiness opens although a required upstream is still not
	// warm: it goes on being warmed, and Service.Degraded, the log, the readiness
	// answer, the page and the metrics name it. The default is the file's
	// start.openDegraded, or 30 s, or twice the file's start.warm if that is more:
	// longer than a pool or a sidecar takes to start, so that only an upstream that is
	// not there is done without. docs/kubernetes.md has the trade. StayClosed is for
	// never.
	OpenDegraded time.Duration

	// Propagation is how long the service goes on serving after it has closed
	// readiness. The default is the file's mesh.propagation, or 5 s.
	Propagation time.Duration

	// Drain is how long running requests may take to finish after that. The default
	// is the file's stop.drain, or the longest deadline of the plans, the door's among
	// them.
	Drain time.Duration

	// Grace is Kubernetes' terminationGracePeriodSeconds. The default is its own,
	// 30 s. Run warns at the start if Propagation and Drain do not fit into it.
	Grace time.Duration

	// Watch is how often the file is looked at for changes, which then apply as by
	// Service.Reload. The default is never.
	Watch time.Duration

	// Control adds POST /debug/offtake/control at Debug, which switches observe mode
	// and reloads the file. It asks for the header Offtake-Control, which a page of
	// another site can't send, and not for who one is: with it, keep Debug to those who
	// may. The default is off: nothing that is served changes anything.
	Control bool

	// Logger takes what an operator must know. The default is slog.Default().
	Logger *slog.Logger

	// Registerer takes the metrics, and serves them at /metrics if it is also a
	// prometheus.Gatherer. The default is Prometheus' default registry.
	Registerer prometheus.Registerer

	// NoMetrics keeps the metrics to this service: they are on no registry but one of
	// its own, which the debug page reads, and /metrics is not served. A test or a tool that
	// opens several services of one file in a process wants it.
	NoMetrics bool

	// TracerProvider, MeterProvider and Propagator default to the global ones.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	Propagator     propagation.TextMapPropagator
}

// StayClosed is for Options.OpenDegraded: readiness opens when all required
// upstreams are warm, and never otherwise.
const StayClosed time.Duration = -1

const (
	defaultAddress     = ":8080"
	defaultDebug       = "127.0.0.1:8082"
	defaultDegraded    = 30 * time.Second
	defaultEarly       = 2 * time.Second
	defaultPropagation = 5 * time.Second
	defaultDrain       = 10 * time.Second // a plan's default deadline
	defaultGrace       = 30 * time.Second

	spreadForEach = 10 * time.Millisecond
	longestSpread = 2 * time.Second
	longestTime   = time.Hour
)

// resolve fills in the defaults that do not depend on the file, or returns all
// mistakes at once.
func (o *Options) resolve() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	errs := []error{r.Inbound.resolve()}
	if r.Address == "" {
		r.Address = defaultAddress
	}
	if r.Grace == 0 {
		r.Grace = defaultGrace
	}
	if r.Logger == nil {
		r.Logger = slog.Default()
	}
	if r.NoMetrics {
		if r.Registerer != nil {
			errs = append(errs, errors.New("Options.NoMetrics: Registerer is set, too; one of them would do"))
		}
		r.Registerer = prometheus.NewRegistry()
	}
	if r.Registerer == nil {
		r.Registerer = prometheus.DefaultRegisterer
	}
	for i, p := range r.Protocols {
		if p.Name == "" || p.New == nil {
			errs = append(errs, fmt.Errorf("Options.Protocols[%d]: it has no name or makes no clients; grpcfactory.Protocol(nil) would do", i))
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
		fits  time.Duration
	}{
		{"Early", r.Early, defaultEarly},
		{"Spread", r.Spread, longestSpread},
		{"OpenDegraded", r.OpenDegraded, time.Minute},
		{"Propagation", r.Propagation, defaultPropagation},
		{"Drain", r.Drain, defaultDrain},
		{"Grace", r.Grace, defaultGrace},
		{"Watch", r.Watch, 10 * time.Second},
	} {
		if f.name == "OpenDegraded" && f.value == StayClosed {
			continue
		}
		if f.value < 0 || f.value > longestTime {
			errs = append(errs, fmt.Errorf("Options.%s: %v is not in [0s, %v]; %v would do", f.name, f.value, longestTime, f.fits))
		}
	}
	return r, errors.Join(errs...)
}
