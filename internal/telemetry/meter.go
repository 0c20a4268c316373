package telemetry

import (
	"context"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/httpconv"
)

// Scope names this module to OpenTelemetry.
const Scope = "github.com/offtake-go/offtake"

// timeInQueue has no semantic convention yet; the name follows http.server's
// proposal and the others' prefix.
const timeInQueue = "http.client.request.time_in_queue"

// meter is the OpenTelemetry side of a Client, under the semantic conventions.
// Each record asks first whether anybody listens: with the global provider and
// no SDK that is one atomic read.
type meter struct {
	server     attribute.Set
	duration   httpconv.ClientRequestDuration
	connection httpconv.ClientConnectionDuration
	inQueue    metric.Float64Histogram
	observed   metric.Registration
	sets       sync.Map // of callKey to attribute.Set
}

type callKey struct {
	method  Method
	outcome Outcome
	code    int
}

func newMeter(config ClientConfig) (*meter, error) {
	provider := config.MeterProvider
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	from := provider.Meter(Scope, metric.WithSchemaURL(semconv.SchemaURL))
	m := &meter{server: attribute.NewSet(semconv.ServerAddress(config.Address), semconv.ServerPort(config.Port))}
	var err error
	if m.duration, err = httpconv.NewClientRequestDuration(from, metric.WithExplicitBucketBoundaries(buckets[1:]...)); err != nil {
		return nil, err
	}
	if m.connection, err = httpconv.NewClientConnectionDuration(from); err != nil {
		return nil, err
	}
	m.inQueue, err = from.Float64Histogram(timeInQueue, metric.WithUnit("s"),
		metric.WithDescription("Wait of an HTTP client request for a place, before it was sent."),
		metric.WithExplicitBucketBoundaries(buckets...))
	if err != nil {
		return nil, err
	}
	return m, m.observe(from, config)
}

// observe has the gauges read when they are collected.
func (m *meter) observe(from metric.Meter, config ClientConfig) error {
	active, err := httpconv.NewClientActiveRequestsObservable(from)
	if err != nil {
		return err
	}
	open, err := httpconv.NewClientOpenConnectionsObservable(from)
	if err != nil {
		return err
	}
	with := func(state httpconv.ConnectionStateAttr) metric.MeasurementOption {
		return metric.WithAttributes(append(m.server.ToSlice(), semconv.HTTPConnectionStateKey.String(string(state)))...)
	}
	idle, busy := with(httpconv.ConnectionStateIdle), with(httpconv.ConnectionStateActive)
	server := metric.WithAttributeSet(m.server)
	m.observed, err = from.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := config.State()
		o.ObserveInt64(active.Inst(), int64(s.InFlight), server)
		o.ObserveInt64(open.Inst(), int64(s.Idle), idle)
		o.ObserveInt64(open.Inst(), int64(s.Active), busy)
		return nil
	}, active.Inst(), open.Inst())
	return err
}

// close ends the reading of the gauges. An error would say that the provider is
// shut down already.
func (m *meter) close() { _ = m.observed.Unregister() }

func (m *meter) queueWait(ctx context.Context, d time.Duration) {
	if m.inQueue.Enabled(ctx) {
		m.inQueue.Record(ctx, d.Seconds(), metric.WithAttributeSet(m.server))
	}
}

func (m *meter) connectionClosed(age time.Duration) {
	m.connection.RecordSet(context.Background(), age.Seconds(), m.server)
}

func (m *meter) call(ctx context.Context, method Method, code int, o Outcome, d time.Duration) {
	if m.duration.Enabled(ctx) {
		m.duration.RecordSet(ctx, d.Seconds(), m.set(callKey{method, o, code}))
	}
}

// set is kept for each combination seen; there are few, since a code outside
// the standard's range becomes an error type.
func (m *meter) set(key callKey) attribute.Set {
	if key.outcome > Status5xx {
		key.code = 0
	}
	if set, ok := m.sets.Load(key); ok {
		return set.(attribute.Set)
	}
	attributes := append(m.server.ToSlice(), semconv.HTTPRequestMethodKey.String(methodAttribute(key.method)))
	if key.code != 0 {
		attributes = append(attributes, semconv.HTTPResponseStatusCode(key.code))
	}
	if key.outcome >= Status4xx {
		attributes = append(attributes, semconv.ErrorTypeKey.String(errorType(key)))
	}
	set := attribute.NewSet(attributes...)
	m.sets.Store(key, set)
	return set
}

// methodAttribute is a method as the semantic conventions name it.
func methodAttribute(m Method) string {
	if m == otherMethod {
		return string(httpconv.RequestMethodOther)
	}
	return m.String()
}

// errorType is the status code for a response, and the outcome for anything
// else.
func errorType(key callKey) string {
	if key.code != 0 {
		return strconv.Itoa(key.code)
	}
	return key.outcome.String()
}
