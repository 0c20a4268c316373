package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/incoming"
)

// The server is slow for longer than half of the time. What may be repeated is cut
// off for its second attempt; the rest has nothing to keep time for.
func TestOnlyWhatMayBeRepeatedKeepsTimeForIt(t *testing.T) {
	never := func() io.ReadCloser { return io.NopCloser(strings.NewReader("order")) } // no GetBody
	for _, tt := range []struct {
		name   string
		method string
		header http.Header
		body   io.ReadCloser
		ours   bool // Plan.Idempotent
		retry  bool // it is itself made for one
		want   time.Duration
	}{
		{"a GET", "GET", nil, nil, false, false, 450 * time.Millisecond},
		{"a GET for a call that is a retry", "GET", nil, nil, false, true, 900 * time.Millisecond},
		{"a POST", "POST", nil, nil, false, false, 900 * time.Millisecond},
		{"a PATCH", "PATCH", nil, nil, false, false, 900 * time.Millisecond},
		{"a POST with a key", "POST", http.Header{"Idempotency-Key": {"k1"}}, nil, false, false, 450 * time.Millisecond},
		{"a POST of an idempotent upstream", "POST", nil, nil, true, false, 450 * time.Millisecond},
		{"a PUT whose body is had once", "PUT", nil, never(), false, false, 900 * time.Millisecond},
		{"a POST of an idempotent upstream whose body is had once", "POST", nil, never(), true, false, 900 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := capacity.Plan{InFlight: 1, Deadline: time.Second, Idempotent: tt.ours}
			bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			}, func(t *testing.T, c *Client) {
				ctx := t.Context()
				if tt.retry {
					ctx = incoming.NewContext(ctx, 2)
				}
				req, _ := http.NewRequestWithContext(ctx, tt.method, "/", nil)
				req.Header, req.Body = tt.header.Clone(), tt.body
				_, err := c.Do(req)
				timeout, ok := errors.AsType[*TimeoutError](first(err))
				if !ok || timeout.Phase != PhaseAttempt || timeout.Limit != tt.want {
					t.Errorf("%s = %v, want an attempt of %v", tt.method, err, tt.want)
				}
			})
		})
	}
}

// first is how the first attempt of a call ended.
func first(err error) error {
	if again, ok := errors.AsType[*RetryError](err); ok {
		return again.Earlier
	}
	return err
}

func TestAPostOfAnIdempotentUpstreamIsRepeatedWithinTheBudget(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		var requests []*http.Request
		plan := capacity.Plan{InFlight: 1, Deadline: 2 * time.Second, Idempotent: idempotent}
		bubble(t, plan, nil, replies(&requests, nil, 503, 200), func(t *testing.T, c *Client) {
			req, _ := http.NewRequestWithContext(context.WithoutCancel(t.Context()), "POST", "/", strings.NewReader("order"))
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			read(t, resp)
			want := 1
			if idempotent {
				want = 2
			}
			if len(requests) != want {
				t.Errorf("requests of a POST with Plan.Idempotent %v = %d, want %d", idempotent, len(requests), want)
			}
			if c.Stats().RetryBalance >= 10 && idempotent {
				t.Errorf("the retry of a POST left the budget at %v", c.Stats().RetryBalance)
			}
		})
	}
}
