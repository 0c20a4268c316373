package grpcclient

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/incoming"
)

func TestOnlyWhatMayBeRepeatedKeepsTimeForIt(t *testing.T) {
	for _, tt := range []struct {
		name    string
		methods map[string]Method
		ours    bool // Plan.Idempotent
		retry   bool // it is itself made for one
		want    time.Duration
	}{
		{"a method without a word", nil, false, false, 900 * time.Millisecond},
		{"a method that may be repeated", idempotent(codes.Unavailable), false, false, 450 * time.Millisecond},
		{"a method that may be repeated, in a retry", idempotent(codes.Unavailable), false, true, 900 * time.Millisecond},
		{"any method of an idempotent upstream", nil, true, false, 450 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var left time.Duration
			u := &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
				d, _ := ctx.Deadline()
				left = time.Until(d)
				return body, nil
			}}
			plan := capacity.Plan{InFlight: 1, Deadline: time.Second, Idempotent: tt.ours}
			bubble(t, plan, &Options{Methods: tt.methods}, u, func(t *testing.T, c *Conn) {
				warm(t, c)
				ctx := t.Context()
				if tt.retry {
					ctx = incoming.NewContext(ctx, 2)
				}
				if err := ask(ctx, c); err != nil || left != tt.want {
					t.Errorf("call = %v with %v left at the server, want %v", err, left, tt.want)
				}
			})
		})
	}
}

func TestACallOfAnIdempotentUpstreamIsRepeated(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answer  codes.Code
		methods map[string]Method
		calls   int
	}{
		{"what was unavailable", codes.Unavailable, nil, 2},
		{"what ran out of time", codes.DeadlineExceeded, nil, 2},
		{"not what was refused for what it is", codes.Aborted, nil, 1},
		{"not against the method's own word", codes.Unavailable, idempotent(codes.Aborted), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &script{answers: []error{status.Error(tt.answer, "no")}}
			plan := capacity.Plan{InFlight: 1, Deadline: 2 * time.Second, Idempotent: true}
			bubble(t, plan, &Options{Methods: tt.methods}, &upstream{call: s.call}, func(t *testing.T, c *Conn) {
				warm(t, c)
				if err := ask(t.Context(), c); s.calls != tt.calls {
					t.Errorf("call = %v after %d attempts, want %d", err, s.calls, tt.calls)
				}
			})
		})
	}
}
