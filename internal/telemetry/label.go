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
	Status429 // the upstream's word that it is busy; what else is 4xx is the caller's
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
	TooLarge  // a gRPC message over a limit on its size
	ProxyBusy // an HTTP 429 from a proxy, which gRPC reads as UNAVAILABLE
	Caller    // what the caller gave could not be sent, or what it got was not read
	CodeOK    // the gRPC status codes, in their order: see OfCode
	Outcomes  = CodeOK + codes
)

var outcomeNames = [Outcomes]string{
	"1xx", "2xx", "3xx", "4xx", "429", "5xx",
	"busy", "closed", "timeout", "canceled", "connect", "tls", "dns", "reset", "body", "protocol",
	"too_large", "proxy_busy", "caller",
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
	"UNAUTHENTICATED",
}

// String is the outcome as a label.
func (o Outcome) String() string { return outcomeNames[o] }

// OfStatus is the outcome of a whole response with an HTTP status code.
func OfStatus(code int) Outcome {
	switch {
	case code < 100 || code > 599:
		return Protocol
	case code == http.StatusTooManyRequests:
		return Status429
	case code >= 500:
		return Status5xx
	}
	return Status1xx + Outcome(code/100-1)
}

// The numbers of gRPC's status codes that Failed and saidBusy know. They are
// google.rpc.Code's; the package of grpc-go would come into every binary that
// speaks HTTP only.
const (
	codeUnknown          = 2
	codeDeadlineExceeded = 4
	codeExhausted        = 8
	codeUnimplemented    = 12
	codeInternal         = 13
	codeUnavailable      = 14
	codeDataLoss         = 15
	codes                = 17 // how many there are
)

// OfCode is the outcome of a call that the other side ended with a gRPC status
// code. Its label is in capitals, as the other side's words are: CANCELLED is
// what it said, and canceled what the caller did.
func OfCode(code uint32) Outcome {
	if code >= codes {
		code = codeUnknown
	}
	return CodeOK + Outcome(code)
}

// Failed says whether the upstream is to blame, as an error budget would count
// it. Busy and Canceled are not its fault, and 4xx is the caller's.
func (o Outcome) Failed() bool {
	switch o {
	case Status5xx, Timeout, Connect, TLS, DNS, Reset, Body, Protocol,
		CodeOK + codeUnknown, CodeOK + codeDeadlineExceeded, CodeOK + codeUnimplemented,
		CodeOK + codeInternal, CodeOK + codeUnavailable, CodeOK + codeDataLoss:
		return true
	}
	return false
}

// saidBusy says whether it is the other side's word that it is busy.
func (o Outcome) saidBusy() bool {
	return o == Status429 || o == ProxyBusy || o == CodeOK+codeExhausted
}

// Method is an HTTP method, or a kind of gRPC method, as a label. The names of
// gRPC methods are no closed set: a proxy passes on what it is sent.
type Method uint8

var methodNames = [...]string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch,
	http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect, "other",
	"unary", "client_stream", "server_stream", "bidi_stream",
}

// Beside the methods of HTTP, which OfMethod returns.
const (
	otherMethod = Method(len(methodNames)) - 5 + Method(iota)
	Unary
	ClientStream
	ServerStream
	BidiStream
	methods // how many there are
)

// String is the method as a label.
func (m Method) String() string { return methodNames[m] }

// OfMethod is the label for a request's method; the empty one is GET, as
// net/http has it.
func OfMethod(s string) Method {
	if s == "" {
		return 0
	}
	for i, name := range methodNames[:otherMethod] {
		if s == name {
			return Method(i)
		}
	}
	return otherMethod
}

// Retry says why an attempt was repeated.
type Retry uint8

// The reasons of retries.
const (
	RetryConnect Retry = iota // nothing was sent
	RetryReset
	RetryTimeout
	RetryStatus    // 502, 503, 504, or a gRPC status
	RetryBusy      // 429 or RESOURCE_EXHAUSTED, on the other side's word
	RetrySilent    // by the transport itself
	RetryProxyBusy // 429 on a gRPC route, read as UNAVAILABLE
	Retries        // how many there are
)

var retryNames = [Retries]string{"connect", "reset", "timeout", "status", "busy", "silent", "proxy_busy"}

// String is the reason as a label.
func (r Retry) String() string { return retryNames[r] }
