package grpcclient

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/internal/gate"
)

// TestEveryErrorHasAWordAndAnAnswer: the word is its label in the metrics.
func TestEveryErrorHasAWordAndAnAnswer(t *testing.T) {
	g := gate.New(gate.Limits{Places: 1})
	refusals := newRefusals("u", g)
	busy := status.Error(codes.ResourceExhausted, "busy")
	late := &TimeoutError{Upstream: "u", Phase: PhaseAttempt, Stage: StageServer}
	for _, tt := range []struct {
		err    error
		word   string
		status int
	}{
		{nil, "OK", 200},
		{refusals.of(gate.QueueFull, 0), "busy", 429},
		{refusals.of(gate.Closed, 0), "closed", 503},
		{late, "timeout", 504},
		{&ContextError{Upstream: "u", Err: errors.New("why"), code: codes.Canceled}, "canceled", 499},
		{&ContextError{Upstream: "u", Err: errors.New("why"), code: codes.DeadlineExceeded}, "timeout", 504},
		{&ConnectError{Upstream: "u", Err: &dialError{address: "a", tls: true, err: context.DeadlineExceeded}}, "tls", 502},
		{&RequestError{Upstream: "u", Err: status.Error(codes.Internal, "no UTF-8")}, "caller", 400},
		{&RequestError{Upstream: "u", Err: status.Error(codes.ResourceExhausted, "larger than max")}, "caller", 413},
		{busy, "RESOURCE_EXHAUSTED", 429},
		{status.Error(codes.Canceled, "a server's word"), "CANCELLED", 502},
		{status.Error(codes.ResourceExhausted, "message larger than max"), "too_large", 502},
		{&RetryError{Attempts: 2, Err: late, Earlier: busy}, "timeout", 504},
		{&RetryError{Attempts: 2, Err: busy, Earlier: late}, "RESOURCE_EXHAUSTED", 429},
		{&RetryError{Attempts: 2, Err: &ConnectError{Upstream: "u"}, Earlier: busy}, "connect", 502},
		{offtake.ErrBusy, "busy", 429},
		{context.Canceled, "canceled", 499},
		{context.DeadlineExceeded, "timeout", 504},
	} {
		errs := []error{tt.err}
		if tt.err != nil {
			errs = append(errs, fmt.Errorf("orders: %w", tt.err))
		}
		for _, err := range errs {
			if got := OutcomeOf(err); got != tt.word {
				t.Errorf("OutcomeOf(%v) = %q, want %q", err, got, tt.word)
			}
			if got, _ := admission.Answer(err); got != tt.status {
				t.Errorf("Answer(%v) = %d, want %d", err, got, tt.status)
			}
		}
	}
	if _, wait := admission.Answer(&RetryError{Err: refusals.of(gate.QueueFull, 0), Earlier: late}); wait < time.Second {
		t.Errorf("Retry-After of a refusal = %v, want a second at least", wait)
	}
}
