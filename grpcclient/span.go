package grpcclient

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// spanName is a method's, as the semantic conventions have it: without the slash.
func spanName(method string) string { return strings.TrimPrefix(method, "/") }

// ownName is a method's name if it is one of the program's own, as generated code
// says, and otherwise "".
func ownName(method string, options []grpc.CallOption) string {
	for _, o := range options {
		if _, ok := o.(grpc.StaticMethodCallOption); ok {
			return spanName(method)
		}
	}
	return ""
}

// placeholder is the global propagator of a program that has not set one. Asking
// it what it writes costs more than all else that a call without a tracer has to do
// with tracing.
var placeholder = otel.GetTextMapPropagator()

// inject writes the span into the metadata to be sent, if there is a propagator and
// so anything to write.
func (c *core) inject(ctx context.Context) context.Context {
	p := c.options.Propagator
	if p == nil {
		p = otel.GetTextMapPropagator()
	}
	if p == placeholder || len(p.Fields()) == 0 {
		return ctx
	}
	var pairs carrier
	p.Inject(ctx, &pairs)
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// carrier is the metadata that a propagator writes.
type carrier []string

var _ propagation.TextMapCarrier = (*carrier)(nil)

// Set implements propagation.TextMapCarrier.
func (c *carrier) Set(key, value string) { *c = append(*c, key, value) }

// Get implements propagation.TextMapCarrier.
func (c *carrier) Get(key string) string {
	for i := 0; i < len(*c); i += 2 {
		if (*c)[i] == key {
			return (*c)[i+1]
		}
	}
	return ""
}

// Keys implements propagation.TextMapCarrier.
func (c *carrier) Keys() []string {
	var keys []string
	for i := 0; i < len(*c); i += 2 {
		keys = append(keys, (*c)[i])
	}
	return keys
}

// endSpan ends the span of a call, with the attributes of the semantic conventions.
func (c *core) endSpan(span trace.Span, method string, o telemetry.Outcome, waited time.Duration, attempts int) {
	server := []attribute.KeyValue{semconv.ServerAddress(c.target.host), semconv.ServerPort(c.target.port)}
	span.SetAttributes(telemetry.RPCAttributes(server, spanName(method), o)...)
	if waited > 0 {
		span.AddEvent("queued", trace.WithAttributes(attribute.Float64("offtake.queue_wait", waited.Seconds())))
	}
	if o == telemetry.Busy || o == telemetry.Closed {
		span.AddEvent("refused")
	}
	if attempts > 1 {
		span.SetAttributes(attribute.Int("offtake.attempts", attempts))
	}
	if o != telemetry.CodeOK {
		span.SetStatus(codes.Error, o.String())
	}
	span.End()
}
