package httpclient

import (
	"context"
	"errors"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// Outcome is the word that the metrics have for how a call ended.
type Outcome string

// Outcomes of errors: the values of the label outcome, and of a span's error.type.
// A response of any status is no error.
const (
	Busy     Outcome = "busy"     // refused here; nothing was sent
	Closed   Outcome = "closed"   // refused here, for good
	Timeout  Outcome = "timeout"  // a bound of this client, or the caller's deadline
	Canceled Outcome = "canceled" // the caller left
	Caller   Outcome = "caller"   // what the caller gave could not be sent, or what it got was not read
	Connect  Outcome = "connect"  // no connection; nothing was sent
	TLS      Outcome = "tls"      // likewise
	DNS      Outcome = "dns"      // likewise
	Reset    Outcome = "reset"    // the connection broke before the response
	Body     Outcome = "body"     // the response's body was cut off, or too long
	Protocol Outcome = "protocol" // not what HTTP would have the upstream say
)

// OutcomeOf is how a call ended, read from the error that it, or a Read of its body,
// has returned, wrapped or not. It is "" for nil: a response is told by its status.
// An error of something else reads as Protocol. admission.Answer says how to answer
// it.
func OutcomeOf(err error) Outcome {
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
		return Outcome(o.String())
	}
	return Outcome(outcomeOf(err, endedAs{context.Background(), err}).String())
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
