package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// outcomeOf puts an error into the closed set. Whoever ended the call is in the
// error: the caller's context may have ended since, or as well, and is asked only
// about an error that does not say.
func outcomeOf(err error, caller context.Context) telemetry.Outcome {
	if timeout, ok := errors.AsType[*TimeoutError](err); ok {
		if timeout.outcome != 0 {
			return timeout.outcome
		}
		return telemetry.Timeout
	}
	if _, ok := errors.AsType[*CallerError](err); ok {
		return telemetry.Caller
	}
	switch {
	case errors.Is(err, offtake.ErrBusy):
		return telemetry.Busy
	case errors.Is(err, offtake.ErrClosed):
		return telemetry.Closed
	case caller.Err() == context.DeadlineExceeded:
		return telemetry.Timeout
	case caller.Err() != nil:
		return telemetry.Canceled
	}
	if dial, ok := errors.AsType[*dialError](err); ok {
		return dial.phase
	}
	return outcomeOfConnection(err)
}

// outcomeOfConnection is for errors of a connection that stood, or of net/http's
// own dial through a proxy.
func outcomeOfConnection(err error) telemetry.Outcome {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return telemetry.DNS
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return telemetry.Connect
	}
	if isTLS(err) {
		return telemetry.TLS
	}
	if _, ok := errors.AsType[*HeaderLimitError](err); ok {
		return telemetry.Protocol
	}
	if _, ok := errors.AsType[*brokenError](err); ok {
		return telemetry.Reset
	}
	if _, ok := errors.AsType[streamError](err); ok {
		return telemetry.Reset
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errSilentRetries) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) {
		return telemetry.Reset
	}
	if _, ok := errors.AsType[*BodyLimitError](err); ok {
		return telemetry.Body
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return telemetry.Reset
	}
	return telemetry.Protocol
}

func isTLS(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.AlertError](err)
	return ok
}
