package httpclient

import (
	"context"
	"net/http"
)

type retriedKey struct{}

// remember has the response of a repeated call say so.
func (l *call) remember(resp *http.Response) {
	e := &RetryError{Attempts: l.attempts, Err: &StatusError{Code: resp.StatusCode}, Earlier: l.earlier}
	resp.Request = l.request.WithContext(context.WithValue(l.request.Context(), retriedKey{}, e))
}

// Retried returns what came before a response: how many attempts there were, and
// how the one before ended. It is nil if the first attempt was the only one. The
// response itself is whole, whatever its status.
func Retried(resp *http.Response) *RetryError {
	if resp == nil || resp.Request == nil {
		return nil
	}
	e, _ := resp.Request.Context().Value(retriedKey{}).(*RetryError)
	return e
}
