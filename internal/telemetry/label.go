package telemetry

import "net/http"

// Outcome says how a call or an attempt ended.
type Outcome uint8

// The closed set of outcomes. An unexpected error is Protocol: the other side
// did not say what HTTP or gRPC would have it say.
const (
	Status1xx Outcome = iota
	Status2xx
	Status3xx
	Status4xx
	Status5xx
	Busy     // refused here: nothing was sent
	Closed   // refused here: shut down
	Timeout  // an attempt, the call, or the caller's deadline ran out
	Canceled // the caller left
	Connect  // no connection
	TLS
	DNS
	Reset // the connection broke before the response
	Body  // the response's body was cut off, or the request's could not be read
	Protocol
	Outcomes // how many there are
)

var outcomeNames = [Outcomes]string{
	"1xx", "2xx", "3xx", "4xx", "5xx",
	"busy", "closed", "timeout", "canceled", "connect", "tls", "dns", "reset", "body", "protocol",
}

// String is the outcome as a label.
func (o Outcome) String() string { return outcomeNames[o] }

// OfStatus is the outcome of a whole response with an HTTP status code.
func OfStatus(code int) Outcome {
	if code < 100 || code > 599 {
		return Protocol
	}
	return Status1xx + Outcome(code/100-1)
}

// Failed says whether the upstream is to blame, as an error budget would count
// it. Busy and Canceled are not its fault, and 4xx is the caller's.
func (o Outcome) Failed() bool {
	switch o {
	case Status5xx, Timeout, Connect, TLS, DNS, Reset, Body, Protocol:
		return true
	}
	return false
}

// Method is an HTTP method as a label.
type Method uint8

var methodNames = [...]string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch,
	http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect, "other",
}

const methods = Method(len(methodNames))

// String is the method as a label.
func (m Method) String() string { return methodNames[m] }

// OfMethod is the label for a request's method; the empty one is GET, as
// net/http has it.
func OfMethod(s string) Method {
	if s == "" {
		return 0
	}
	for i, name := range methodNames[:methods-1] {
		if s == name {
			return Method(i)
		}
	}
	return methods - 1
}

// Retry says why an attempt was repeated.
type Retry uint8

// The reasons of retries.
const (
	RetryConnect Retry = iota // nothing was sent
	RetryReset
	RetryTimeout
	RetryStatus // 502, 503, 504
	RetryBusy   // 429 or RESOURCE_EXHAUSTED, on the other side's word
	RetrySilent // by the transport itself
	Retries     // how many there are
)

var retryNames = [Retries]string{"connect", "reset", "timeout", "status", "busy", "silent"}

// String is the reason as a label.
func (r Retry) String() string { return retryNames[r] }
