package httpclient

import (
	"context"
	"errors"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// Reason is the word that the metrics have for how a call ended.
type Reason string

// Reasons of errors: the values of the label outcome, and of a span's error.type.
// A response of any status is no error.
const (
	Busy     Reason = "busy"     // refused here; nothing was sent
	Closed   Reason = "closed"   // refused here, for good
	Timeout  Reason = "timeout"  // a bound of this client, or the caller's deadline
	Canceled Reason = "canceled" // the caller left
	Caller   Reason = "caller"   // what the caller gave could not be sent, or what it got was not read
	Connect  Reason = "connect"  // no connection; nothing was sent
	TLS      Reason = "tls"      // likewise
	DNS      Reason = "dns"      // likewise
	Reset    Reason = "reset"    // the connection broke before the response
	Body     Reason = "body"     // the response's body was cut off, or too long
	Protocol Reason = "protocol" // not what HTTP would have the upstream say
)

// ReasonOf reads the reason of an error that a call, or a Read of its body, ended
// with. It is "" for nil. An error of something else reads as Protocol.
func ReasonOf(err error) Reason {
	if err == nil {
		return ""
	}
	if retried, ok := errors.AsType[*RetryError](err); ok {
		err = retried.Err
	}
	if errors.Is(err, errUnmade) {
		return Closed
	}
	if _, ok := errors.AsType[*HostError](err); ok {
		return Caller
	}
	if _, ok := errors.AsType[*RedirectError](err); ok {
		return Caller
	}
	switch o := howFar(err); o { // a dial may be out of time by a context of its own
	case telemetry.Connect, telemetry.TLS, telemetry.DNS:
		return Reason(o.String())
	}
	return Reason(outcomeOf(err, endedAs{context.Background(), err}).String())
}

// howFar is how far a dial came, if the error is one of a dial.
func howFar(err error) telemetry.Outcome {
	if dial, ok := errors.AsType[*dialError](err); ok {
		return dial.phase
	}
	return outcomeOfConnection(err)
}

// endedAs is a context that has ended as an error says, if it does.
type endedAs struct {
	context.Context
	err error
}

func (c endedAs) Err() error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(c.err, end) {
			return end
		}
	}
	return nil
}
