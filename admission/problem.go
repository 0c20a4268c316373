package admission

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/offtake-go/offtake/internal/retryafter"
	"github.com/offtake-go/offtake/internal/verdict"
)

// statusClientClosed is for logs: see Answer.
const statusClientClosed = verdict.ClientClosed

// WriteError answers a request whose call of an upstream failed with err, as [Answer]
// has it: with Retry-After for 429 and 503, and with Connection: close for the latter.
// 499 has no body. The client has left and reads nothing of it; but if nothing were
// written, net/http would answer 200, and so would every access log.
//
// The body is a problem of RFC 9457 in JSON with fixed texts: no word of err is
// in it. Log err where it is known what it is about.
func WriteError(w http.ResponseWriter, err error) {
	status, wait := Answer(err)
	if status == statusClientClosed {
		w.WriteHeader(status)
		return
	}
	writeProblem(w, status, wait, status == http.StatusServiceUnavailable)
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
	case http.StatusBadRequest:
		return `{"type":"about:blank","title":"Bad Request","status":400,"detail":"This request can't be passed on as it is."}` + "\n"
	case http.StatusRequestEntityTooLarge:
		return `{"type":"about:blank","title":"Request Entity Too Large","status":413,"detail":"This request is too large to be passed on."}` + "\n"
	default:
		return `{"type":"about:blank","title":"Bad Gateway","status":502,"detail":"A service that this request needs did not answer as it should."}` + "\n"
	}
}
