// Package verdict says how a service answers when a call of an upstream has failed.
package verdict

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/offtake-go/offtake"
)

// ClientClosed is nginx's code for a request whose client has left. It is for logs:
// nobody is there to read it.
const ClientClosed = 499

// Teller is an error that knows itself how it is to be answered: an HTTP status, and
// when to come back, or 0.
type Teller interface {
	error
	Answer() (status int, retryAfter time.Duration)
}

// Status reads an error that is a status of gRPC. Package grpcverdict sets it in programs
// that speak gRPC, so that the others need not link it.
var Status func(err error) (status int, retryAfter time.Duration, ok bool)

// Of is the HTTP status for an error, and when to come back; 0 if nobody has said.
//
// It is tempting to ask errors.Is for one thing after the other. But an error of a
// repeated call holds how its first attempt ended, too, and what counts is the last: so
// the first error that says anything wins, in the order in which errors.Is looks.
func Of(err error) (status int, retryAfter time.Duration) {
	if status, retryAfter, ok := first(err); ok {
		if refusal, found := errors.AsType[*offtake.Error](err); found && status == http.StatusTooManyRequests && retryAfter == 0 {
			retryAfter = refusal.RetryAfter
		}
		return status, retryAfter
	}
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() {
		return http.StatusGatewayTimeout, 0
	}
	return http.StatusBadGateway, 0
}

func first(err error) (status int, retryAfter time.Duration, ok bool) {
	if err == nil {
		return 0, 0, false
	}
	if status, retryAfter, ok := itself(err); ok {
		return status, retryAfter, true
	}
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case interface{ Unwrap() error }:
		return first(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if status, retryAfter, ok := first(err); ok {
				return status, retryAfter, true
			}
		}
	}
	return 0, 0, false
}

// itself is what an error says without those that it wraps.
func itself(err error) (status int, retryAfter time.Duration, ok bool) {
	if t, ok := err.(Teller); ok { //nolint:errorlint // as above
		status, retryAfter := t.Answer()
		return status, retryAfter, true
	}
	for _, c := range [...]struct {
		target error
		status int
	}{
		{offtake.ErrBusy, http.StatusTooManyRequests},
		{offtake.ErrClosed, http.StatusServiceUnavailable},
		{context.Canceled, ClientClosed},
		{context.DeadlineExceeded, http.StatusGatewayTimeout},
	} {
		if is(err, c.target) {
			return c.status, 0, true
		}
	}
	if Status != nil {
		return Status(err)
	}
	return 0, 0, false
}

func is(err, target error) bool {
	if err == target {
		return true
	}
	e, ok := err.(interface{ Is(error) bool })
	return ok && e.Is(target)
}
