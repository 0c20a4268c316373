package admission

import (
	"net/http"
	"strconv"
	"time"

	"github.com/offtake-go/offtake/internal/retryafter"
)

// The codes of google.rpc.Code; the table of HTTP statuses beside them there is
// the one proxies use, so that they read the same from both.
const (
	grpcDeadlineExceeded  = 4
	grpcResourceExhausted = 8
	grpcUnavailable       = 14
)

// writeStatus refuses a gRPC request: one header block that ends the stream, with
// status and pushback, which the protocol calls Trailers-Only. Only such an
// answer lets a client retry, and a proxy see the status.
func writeStatus(w http.ResponseWriter, contentType string, status int, wait time.Duration) {
	code, message := grpcUnavailable, "the server is shutting down"
	switch status {
	case http.StatusTooManyRequests:
		code, message = grpcResourceExhausted, "the server is busy"
	case http.StatusGatewayTimeout:
		code, message = grpcDeadlineExceeded, "the time for this call ran out at the server's door"
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Grpc-Status", strconv.Itoa(code))
	h.Set("Grpc-Message", message)
	if code == grpcResourceExhausted {
		h.Set("Grpc-Retry-Pushback-Ms", strconv.FormatInt(retryafter.Seconds(wait)*1000, 10))
	}
	w.WriteHeader(http.StatusOK)
}
