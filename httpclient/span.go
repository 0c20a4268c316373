package httpclient

import (
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// The events of a span, and their attributes. Times are in seconds.
const (
	eventAttempt = "offtake.attempt" // has its place, and is sent
	eventRetry   = "offtake.retry"   // the attempt was not enough
	eventRefused = "offtake.refused" // there was no place

	attributeQueueWait = attribute.Key("offtake.queue_wait")
	attributeAttempt   = attribute.Key("offtake.attempt")
	attributeReason    = attribute.Key("offtake.reason")
	attributePause     = attribute.Key("offtake.pause")
)

// inject writes the span into the request's header. Without a span there may still
// be something to hand on, if there is a propagator at all.
func (c *core) inject(a *attempt) {
	p := c.options.Propagator
	if p == nil {
		p = otel.GetTextMapPropagator()
	}
	if a.call.span != nil || len(p.Fields()) > 0 {
		p.Inject(a.call.ctx, propagation.HeaderCarrier(a.header()))
	}
}

func (l *call) eventAttempt(waited time.Duration) {
	if l.span != nil {
		l.span.AddEvent(eventAttempt, trace.WithAttributes(
			attributeAttempt.Int(l.attempts), attributeQueueWait.Float64(waited.Seconds())))
	}
}

func (l *call) eventRetry(why telemetry.Retry, pause time.Duration) {
	if l.span != nil {
		l.span.AddEvent(eventRetry, trace.WithAttributes(
			attributeReason.String(why.String()), attributePause.Float64(pause.Seconds())))
	}
}

func (l *call) eventRefused(waited time.Duration, err error) {
	if l.span == nil {
		return
	}
	if refusal, ok := errors.AsType[*offtake.Error](err); ok {
		l.span.AddEvent(eventRefused, trace.WithAttributes(
			attributeReason.String(refusal.Err.Error()), attributeQueueWait.Float64(waited.Seconds())))
	}
}

// endSpan ends the call's span, with the attributes of the semantic conventions.
// The URL's query may hold secrets, and stays out.
func (l *call) endSpan(o telemetry.Outcome) {
	host, port := l.core.target.hostPort()
	url := *l.url
	url.User, url.RawQuery = nil, ""
	l.span.SetAttributes(
		semconv.HTTPRequestMethodKey.String(l.method.String()),
		semconv.URLFull(url.String()),
		semconv.ServerAddress(host),
		semconv.ServerPort(port),
	)
	if l.attempts > 1 {
		l.span.SetAttributes(semconv.HTTPRequestResendCount(l.attempts - 1))
	}
	if l.code != 0 {
		l.span.SetAttributes(semconv.HTTPResponseStatusCode(l.code))
	}
	if o >= telemetry.Status4xx {
		l.span.SetAttributes(semconv.ErrorTypeKey.String(o.String()))
		l.span.SetStatus(codes.Error, o.String())
	}
	l.span.End()
}
