package httpclient

import (
	"context"
	"errors"
	"net/http"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// ReasonOf says how a call ended, in the words of the label outcome of the metrics
// (docs/metrics.md): "2xx" to "5xx" and "429" for a response, and for an error
// "busy" or "closed" if it was refused here, "timeout", "canceled", "connect",
// "tls", "dns", "reset", "body", "protocol", or "caller" for a fault of the
// caller's own. Of a call that was repeated it is the last attempt's. It is empty
// for neither.
//
// It takes what Do has returned, and any error that wraps that.
func ReasonOf(resp *http.Response, err error) string {
	if err == nil && resp == nil {
		return ""
	}
	if err == nil {
		return telemetry.OfStatus(resp.StatusCode).String()
	}
	return reasonOf(err).String()
}

func reasonOf(err error) telemetry.Outcome {
	if retried, ok := errors.AsType[*RetryError](err); ok {
		err = retried.Err
	}
	o := outcomeOf(err, context.Background())
	if o != telemetry.Protocol {
		return o
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return telemetry.Timeout
	case errors.Is(err, context.Canceled):
		return telemetry.Canceled
	}
	return o
}
