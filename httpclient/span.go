package httpclient

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// inject writes the span into the request's header, if there is a propagator and
// so anything to write.
func (c *core) inject(a *attempt) {
	p := c.options.Propagator
	if p == nil {
		p = otel.GetTextMapPropagator()
	}
	if len(p.Fields()) > 0 {
		p.Inject(a.call.ctx, propagation.HeaderCarrier(a.header()))
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
