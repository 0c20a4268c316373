package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestBoundsEndACallExactly(t *testing.T) {
	plan := capacity.Plan{
		InFlight: 1, Attempts: capacity.NoRetry,
		Attempt: 100 * time.Millisecond, BodyIdle: 200 * time.Millisecond, Deadline: time.Second,
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		ctx     func(context.Context) context.Context
		phase   Phase
		after   time.Duration
	}{
		{"no headers", slow(time.Minute), nil, PhaseAttempt, 100 * time.Millisecond},
		{"a body that stops", drip(3, 10*time.Millisecond), nil, PhaseBodyIdle, 220 * time.Millisecond},
		{"a body that never ends", drip(1e6, 10*time.Millisecond), nil, PhaseDeadline, time.Second},
		{"a stream that stops", drip(300, 10*time.Millisecond), Stream, PhaseBodyIdle, 3190 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, plan, nil, tt.handler, func(t *testing.T, c *Client) {
				ctx := t.Context()
				if tt.ctx != nil {
					ctx = tt.ctx(ctx)
				}
				req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
				start := time.Now()
				resp, err := c.Do(req)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
				}
				timeout, ok := errors.AsType[*TimeoutError](err)
				if !ok || timeout.Phase != tt.phase || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("err = %v, want a TimeoutError for %s", err, tt.phase)
				}
				if got := time.Since(start); got != tt.after {
					t.Errorf("ended after %v, want %v", got, tt.after)
				}
				wantIdle(t, c)
			})
		})
	}
}

// drip sends a byte n times, with pauses, and then nothing until the client has
// gone.
func drip(n int, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := range n {
			if i > 0 {
				select {
				case <-time.After(pause):
				case <-r.Context().Done():
					return
				}
			}
			if _, err := w.Write([]byte{'.'}); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

func TestTheCallersCauseComesBack(t *testing.T) {
	cause := errors.New("the customer closed the page")
	bubble(t, capacity.Plan{InFlight: 1}, nil, slow(time.Minute), func(t *testing.T, c *Client) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
		req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
		if _, err := c.Do(req); !errors.Is(err, cause) {
			t.Errorf("err = %v, want %v", err, cause)
		}
		wantIdle(t, c)
	})
}
