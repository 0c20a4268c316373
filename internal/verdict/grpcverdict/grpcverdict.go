// Package grpcverdict has package verdict read statuses of gRPC, in a program that
// imports it.
package grpcverdict

import (
	"net/http"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/internal/verdict"
)

func init() { verdict.Status = of }

// of reads what a server has said. What wraps something is a client's, and what it
// wraps says more.
func of(err error) (int, time.Duration, bool) {
	switch err.(type) { //nolint:errorlint // verdict.Of walks
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		return 0, 0, false
	}
	with, ok := err.(interface{ GRPCStatus() *status.Status })
	if !ok {
		return 0, 0, false
	}
	s := with.GRPCStatus()
	switch code := s.Code(); {
	case code == codes.DeadlineExceeded:
		return http.StatusGatewayTimeout, 0, true
	case code == codes.ResourceExhausted && !TooLarge(s.Message()), code == codes.Unavailable && ProxyBusy(s.Message()):
		return http.StatusTooManyRequests, RetryAfter(s), true
	}
	return http.StatusBadGateway, 0, true
}

// RetryAfter is the delay of a status's google.rpc.RetryInfo, at least 1 ns; 0 without
// one.
func RetryAfter(s *status.Status) time.Duration {
	for _, d := range s.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return max(1, info.GetRetryDelay().AsDuration())
		}
	}
	return 0
}

// It is ugly to read a message's text. But grpc-go gives neither of these anything
// else, at the client or at the server, and without them a label would call a
// message of 5 MB "busy" and a proxy that is busy "broken". Nothing is decided by
// them for the upstream: what of it may be sent again follows from codes and details
// alone.

// TooLarge says whether RESOURCE_EXHAUSTED is a message over a limit on its size.
func TooLarge(message string) bool { return strings.Contains(message, "larger than max") }

// ProxyBusy says whether UNAVAILABLE is an HTTP 429 from a proxy.
func ProxyBusy(message string) bool {
	return strings.HasPrefix(message, "unexpected HTTP status code received from server: 429")
}
