package telemetry

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/rpcconv"
)

var (
	clientStreamWait = definition{name: "offtake_client_stream_wait_seconds", help: "Wait of an attempt for a stream on its connection, for the server's limit on concurrent streams; 0 below the limit, absent above it without diagnostics."}
	clientOverLimit  = definition{"offtake_client_streams_over_limit_total", "Attempts sent on a connection that was at the server's limit on concurrent streams.", prometheus.CounterValue, nil}
)

// RPC records what gRPC has beside a Client: the wait for a stream, and the
// semantic conventions of OpenTelemetry for calls. It is safe for concurrent use.
type RPC struct {
	registerer prometheus.Registerer
	streamWait waits
	overLimit  atomic.Uint64
	overDesc   *prometheus.Desc

	server   []attribute.KeyValue
	duration rpcconv.ClientCallDuration
	inQueue  metric.Float64Histogram
	waited   []metric.RecordOption
	sets     atomic.Pointer[map[rpcKey][]metric.RecordOption]
}

// rpcKey is one series of calls.
type rpcKey struct {
	method  string // "" if it is not one of the program's own
	outcome Outcome
}

// NewRPC registers these metrics of an upstream.
func NewRPC(config ClientConfig) (*RPC, error) {
	labels := prometheus.Labels{"upstream": config.Upstream}
	r := &RPC{
		streamWait: newWaits(clientStreamWait, labels),
		overDesc:   clientOverLimit.desc(labels),
		server:     []attribute.KeyValue{semconv.ServerAddress(config.Address), semconv.ServerPort(config.Port)},
	}
	r.waited = []metric.RecordOption{metric.WithAttributes(append(r.server, semconv.RPCSystemNameGRPC)...)}
	r.sets.Store(&map[rpcKey][]metric.RecordOption{})
	provider := config.MeterProvider
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	from := provider.Meter(Scope, metric.WithSchemaURL(semconv.SchemaURL))
	var err error
	if r.duration, err = rpcconv.NewClientCallDuration(from, metric.WithExplicitBucketBoundaries(buckets[1:]...)); err != nil {
		return nil, err
	}
	r.inQueue, err = from.Float64Histogram("rpc.client.call.time_in_queue", metric.WithUnit("s"),
		metric.WithDescription("Wait of an RPC for a place, before it was sent."),
		metric.WithExplicitBucketBoundaries(buckets...))
	if err != nil {
		return nil, err
	}
	if r.registerer, err = register(config.Registerer, (*rpcCollector)(r), "client", config.Upstream); err != nil {
		return nil, err
	}
	return r, nil
}

// Close takes the metrics off the registry.
func (r *RPC) Close() { r.registerer.Unregister((*rpcCollector)(r)) }

// StreamWait records how long an attempt waited for a stream.
func (r *RPC) StreamWait(d time.Duration) { r.streamWait.observe(d) }

// OverLimit counts an attempt that has to wait for a stream.
func (r *RPC) OverLimit() { r.overLimit.Add(1) }

// OverLimits is how many had to.
func (r *RPC) OverLimits() uint64 { return r.overLimit.Load() }

// QueueWait records how long a call waited for a place.
func (r *RPC) QueueWait(ctx context.Context, d time.Duration) {
	if r.inQueue.Enabled(ctx) {
		r.inQueue.Record(ctx, d.Seconds(), r.waited...)
	}
}

// Call records a whole call. Method is its full name if that is one of the
// program's own, and otherwise "": a name that came over the wire must not become
// a label.
func (r *RPC) Call(ctx context.Context, method string, o Outcome, d time.Duration) {
	if r.duration.Enabled(ctx) {
		r.duration.Inst().Record(ctx, d.Seconds(), r.set(rpcKey{method, o})...)
	}
}

// set is kept for each series seen. The map is copied to be written, which
// happens a few times in the life of a program, and is read without a lock and
// without an allocation.
func (r *RPC) set(key rpcKey) []metric.RecordOption {
	for {
		sets := r.sets.Load()
		if set, ok := (*sets)[key]; ok {
			return set
		}
		more := maps.Clone(*sets)
		more[key] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(RPCAttributes(r.server, key.method, key.outcome)...))}
		r.sets.CompareAndSwap(sets, &more)
	}
}

// RPCAttributes are the attributes of a call, for its metric and its span, after
// those of the server.
func RPCAttributes(server []attribute.KeyValue, method string, o Outcome) []attribute.KeyValue {
	if method == "" {
		method = "_OTHER"
	}
	attributes := append([]attribute.KeyValue{semconv.RPCSystemNameGRPC, semconv.RPCMethod(method)}, server...)
	if o >= CodeOK {
		attributes = append(attributes, semconv.RPCResponseStatusCode(o.String()))
	}
	if o != CodeOK {
		attributes = append(attributes, semconv.ErrorTypeKey.String(o.String()))
	}
	return attributes
}

// rpcCollector is an RPC as Prometheus sees it.
type rpcCollector RPC

// Describe implements prometheus.Collector.
func (r *rpcCollector) Describe(out chan<- *prometheus.Desc) {
	r.streamWait.Describe(out)
	out <- r.overDesc
}

// Collect implements prometheus.Collector.
func (r *rpcCollector) Collect(out chan<- prometheus.Metric) {
	r.streamWait.Collect(out)
	counter(out, r.overDesc, r.overLimit.Load())
}
