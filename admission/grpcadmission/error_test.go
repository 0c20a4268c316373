package grpcadmission

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/internal/verdict/grpcverdict"
)

func said(t *testing.T, code codes.Code, message string, wait time.Duration) error {
	t.Helper()
	s := status.New(code, message)
	if wait > 0 {
		var err error
		if s, err = s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err != nil {
			t.Fatal(err)
		}
	}
	return s.Err()
}

// TestAnErrorHasTheSameAnswerInBothProtocols: what a service says does not depend on
// how it was asked, or on how it asks.
func TestAnErrorHasTheSameAnswerInBothProtocols(t *testing.T) {
	const proxied = "unexpected HTTP status code received from server: 429 (Too Many Requests)"
	for _, tt := range []struct {
		err    error
		http   int
		code   codes.Code
		wait   time.Duration // in RetryInfo
		header time.Duration // in Retry-After
	}{
		{nil, 200, codes.OK, 0, 0},
		{&offtake.Error{Err: offtake.ErrBusy, RetryAfter: 200 * time.Millisecond}, 429, codes.ResourceExhausted, 200 * time.Millisecond, time.Second},
		{&admission.ResponseError{StatusCode: 429, RetryAfter: 3 * time.Second}, 429, codes.ResourceExhausted, 3 * time.Second, 3 * time.Second},
		{said(t, codes.ResourceExhausted, "busy", 1500*time.Millisecond), 429, codes.ResourceExhausted, 1500 * time.Millisecond, 2 * time.Second},
		{said(t, codes.ResourceExhausted, "busy", 0), 429, codes.ResourceExhausted, time.Second, time.Second},
		{said(t, codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 4)", 0), 502, codes.Unavailable, 0, 0},
		{said(t, codes.Unavailable, proxied, 0), 429, codes.ResourceExhausted, time.Second, time.Second},
		{said(t, codes.Unavailable, "broken", 0), 502, codes.Unavailable, 0, 0},
		{said(t, codes.DeadlineExceeded, "late", 0), 504, codes.DeadlineExceeded, 0, 0},
		{said(t, codes.Canceled, "the upstream's word, not the caller's", 0), 502, codes.Unavailable, 0, 0},
		{said(t, codes.InvalidArgument, "this service's request", 0), 502, codes.Unavailable, 0, 0},
		{errors.Join(said(t, codes.Unavailable, "broken", 0), said(t, codes.ResourceExhausted, "before that", 0)), 502, codes.Unavailable, 0, 0},
		{offtake.ErrClosed, 503, codes.Unavailable, 0, time.Second},
		{context.Canceled, 499, codes.Canceled, 0, 0},
		{context.DeadlineExceeded, 504, codes.DeadlineExceeded, 0, 0},
		{errors.New("broken"), 502, codes.Unavailable, 0, 0},
	} {
		got := Error(tt.err)
		if wait := grpcverdict.RetryAfter(status.Convert(got)); status.Code(got) != tt.code || wait != tt.wait {
			t.Errorf("Error(%v) = %v with RetryInfo %v, want %v with %v", tt.err, got, wait, tt.code, tt.wait)
		}
		if s, header := admission.Answer(tt.err); s != tt.http || header != tt.header {
			t.Errorf("Answer(%v) = %d, %v, want %d, %v", tt.err, s, header, tt.http, tt.header)
		}
	}
}
