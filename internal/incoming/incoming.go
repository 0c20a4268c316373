// Package incoming keeps what a request told about itself when it came in, for
// the clients that the handler calls on its behalf.
//
// Its time left becomes the context's deadline, which every client obeys
// already. Its attempt number is a value of the context: a client sends no
// retries of its own for a call that is itself a retry, or each layer would
// multiply the attempts of the one above.
//
// Neither is proof against a stranger, and neither has to be: whoever writes
// these headers can only shorten his own request's time and give up his own
// retries.
package incoming

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// The headers, in canonical form, as Envoy's router writes them.
const (
	// TimeoutHeader is the time, in milliseconds, in which the proxy in front
	// wants the answer: of this try, if it bounds tries one by one.
	TimeoutHeader = "X-Envoy-Expected-Rq-Timeout-Ms"

	// AttemptHeader counts the tries of the proxy in front, from 1.
	AttemptHeader = "X-Envoy-Attempt-Count"
)

// What is beyond these is a mistake or a joke, and is ignored.
const (
	mostTimeout  = time.Hour // the longest deadline that a capacity.Plan can state
	mostAttempts = 100       // ten times what a capacity.Plan can state
)

type attemptKey struct{}

// NewContext returns a context that says which attempt is being served.
func NewContext(ctx context.Context, attempt int) context.Context {
	return context.WithValue(ctx, attemptKey{}, attempt)
}

// Attempt is the number of the attempt that is being served, from 1. It is 1 if
// nobody said.
func Attempt(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}

// Timeout is the time left that a header states, in [1 ms, 1 h]. Anything but one
// plain decimal in that range is ignored, and false.
func Timeout(h http.Header) (time.Duration, bool) {
	ms, ok := count(h[TimeoutHeader], int64(mostTimeout/time.Millisecond))
	return time.Duration(ms) * time.Millisecond, ok
}

// AttemptOf is the attempt that a header states, in [1, 100]. Anything but one
// plain decimal in that range is ignored, and false.
func AttemptOf(h http.Header) (int, bool) { return ParseAttempt(h[AttemptHeader]) }

// ParseAttempt is [AttemptOf] for the values of any header that counts from 1.
func ParseAttempt(values []string) (int, bool) {
	n, ok := count(values, mostAttempts)
	return int(n), ok
}

// count reads a header that must be there once, as a decimal in [1, most]
// without sign, space or leading zero.
func count(values []string, most int64) (int64, bool) {
	if len(values) != 1 || values[0] == "" || values[0][0] < '1' || values[0][0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n > most {
		return 0, false
	}
	return n, true
}
