package admission

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/retryafter"
)

// statusClientClosed is nginx's code for a request whose client has left. It is
// for logs: nobody is there to read it.
const statusClientClosed = 499

// WriteError answers a request whose call of an upstream failed with err:
//
//   - offtake.ErrBusy is 429 with Retry-After. Busy is handed on as busy: the
//     caller's proxies must not take this replica for a broken one.
//   - offtake.ErrClosed is 503 with Connection: close: this process drains.
//   - A deadline, ours or the caller's, or anything else with Timeout() true, is
//     504.
//   - context.Canceled is 499 without a body. The client has left and reads
//     nothing of it; but if nothing were written, net/http would answer 200, and
//     so would every access log.
//   - The rest is 502.
//
// The body is a problem of RFC 9457 in JSON with fixed texts: no word of err is
// in it. Log err where it is known what it is about.
func WriteError(w http.ResponseWriter, err error) {
	switch status := statusOf(err); status {
	case statusClientClosed:
		w.WriteHeader(status)
	case http.StatusTooManyRequests:
		var wait time.Duration
		if e, ok := errors.AsType[*offtake.Error](err); ok {
			wait = min(e.RetryAfter, longestRetryAfter)
		}
		writeProblem(w, status, wait, false)
	default:
		writeProblem(w, status, 0, status == http.StatusServiceUnavailable)
	}
}

// statusOf orders the questions: what is refused here may wrap a deadline, and a
// call that was canceled may say Timeout.
func statusOf(err error) int {
	switch {
	case errors.Is(err, offtake.ErrBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, offtake.ErrClosed):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.Canceled):
		return statusClientClosed
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	if t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && t.Timeout() {
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// refuse answers a request at the door.
func refuse(w http.ResponseWriter, r *http.Request, status int, wait time.Duration) {
	if contentType := r.Header["Content-Type"]; len(contentType) == 1 && strings.HasPrefix(contentType[0], "application/grpc") {
		writeStatus(w, contentType[0], status, wait)
		return
	}
	u, ok := unreadOf(w, r)
	if !ok {
		writeProblem(w, status, wait, status == http.StatusServiceUnavailable)
		return
	}
	u.before()
	writeProblem(w, status, wait, u.waiting || status == http.StatusServiceUnavailable)
	u.after()
}

// writeProblem writes a status with its problem, Retry-After where the client
// should come back, and Connection: close if it should do so elsewhere.
func writeProblem(w http.ResponseWriter, status int, wait time.Duration, closing bool) {
	h := w.Header()
	for _, name := range []string{"Content-Encoding", "Etag", "Last-Modified", "Cache-Control"} {
		delete(h, name) // of an answer that was begun and given up
	}
	body := problemOf(status)
	values := make([]string, 4) // one allocation for all
	set := func(i int, name, value string) {
		values[i] = value
		h[name] = values[i : i+1 : i+1]
	}
	set(0, "Content-Type", "application/problem+json")
	set(1, "Content-Length", strconv.Itoa(len(body)))
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		set(2, "Retry-After", retryafter.Format(wait))
	}
	if closing {
		set(3, "Connection", "close")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // it fails if the client has left, and then nobody is told
}

// problemOf is the body for a status. It says nothing that the status does not:
// the numbers of a gate are for its operators.
func problemOf(status int) string {
	switch status {
	case http.StatusTooManyRequests:
		return `{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"The service is busy. Try again later."}` + "\n"
	case http.StatusServiceUnavailable:
		return `{"type":"about:blank","title":"Service Unavailable","status":503,"detail":"This replica is shutting down. Try again."}` + "\n"
	case http.StatusGatewayTimeout:
		return `{"type":"about:blank","title":"Gateway Timeout","status":504,"detail":"The time for this request ran out."}` + "\n"
	default:
		return `{"type":"about:blank","title":"Bad Gateway","status":502,"detail":"A service that this request needs did not answer as it should."}` + "\n"
	}
}
