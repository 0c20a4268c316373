package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/incoming"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// replies answers the n-th request with the n-th status, and with the last from
// then on. It takes no header that depends on the attempt but one.
func replies(requests *[]*http.Request, header http.Header, statuses ...int) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		*requests = append(*requests, r.Clone(context.Background()))
		status := statuses[min(len(*requests), len(statuses))-1]
		mu.Unlock()
		if status >= 400 {
			for name, values := range header {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(status)
		io.WriteString(w, `{"status":"as told"}`)
	}
}

func TestWhatIsSentAgain(t *testing.T) {
	for _, tt := range []struct {
		name     string
		method   string
		request  http.Header
		response http.Header
		statuses []int
		want     int
	}{
		{"a GET after 503", "GET", nil, nil, []int{503, 200}, 2},
		{"a GET after 502 and 504", "GET", nil, nil, []int{502, 504, 200}, 3},
		{"a PUT after 503", "PUT", nil, nil, []int{503, 200}, 2},
		{"a DELETE after 503", "DELETE", nil, nil, []int{503, 200}, 2},
		{"no POST after 503: it may have worked", "POST", nil, nil, []int{503, 200}, 1},
		{"a POST with a key", "POST", http.Header{"Idempotency-Key": {"k1"}}, nil, []int{503, 503, 200}, 3},
		{"a POST after 429 with a word on when", "POST", nil, http.Header{"Retry-After": {"1"}}, []int{429, 200}, 2},
		{"nothing after 429 without one", "GET", nil, nil, []int{429, 200}, 1},
		{"nothing after 500", "GET", nil, nil, []int{500, 200}, 1},
		{"a GET after 408", "GET", nil, nil, []int{408, 200}, 2},
		{"no POST after 408: it may have worked", "POST", nil, nil, []int{408, 200}, 1},
		{"a POST after 425 and 421, which were not begun", "POST", nil, nil, []int{425, 421, 200}, 3},
		{"nothing after 404", "GET", nil, nil, []int{404, 200}, 1},
		{"nothing that the proxy is too busy for", "GET", nil, http.Header{"X-Envoy-Overloaded": {"true"}}, []int{503, 200}, 1},
		{"no more than the plan has", "GET", nil, nil, []int{503}, 4},
		{"no wait that can't fit", "GET", nil, http.Header{"Retry-After": {"3600"}}, []int{503, 200}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var requests []*http.Request
			plan := capacity.Plan{InFlight: 2, Attempts: 4, Deadline: 8 * time.Second, RetryShare: 1}
			bubble(t, plan, nil, replies(&requests, tt.response, tt.statuses...), func(t *testing.T, c *Client) {
				req, _ := http.NewRequestWithContext(t.Context(), tt.method, "/", nil)
				req.Header = tt.request.Clone()
				resp, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
				if len(requests) != tt.want {
					t.Errorf("requests = %d, want %d", len(requests), tt.want)
				}
				wantCount(t, c, "attempts_total", "", float64(tt.want))
				wantCount(t, c, "retries_total", "", float64(tt.want-1))
				for i, r := range requests {
					if got, want := r.Header.Get("Idempotency-Key"), tt.request.Get("Idempotency-Key"); got != want {
						t.Errorf("key of attempt %d = %q, want %q", i+1, got, want)
					}
					if got := len(r.Header[incoming.AttemptHeader]); got > 1 {
						t.Errorf("attempt %d has %d headers of its number, want one at the most", i+1, got)
					}
				}
				wantIdle(t, c)
			})
		})
	}
}

func TestTheLastResponseIsWholeAndSaysWhatCameBefore(t *testing.T) {
	var requests []*http.Request
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 3}, nil, replies(&requests, nil, 503), func(t *testing.T, c *Client) {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); resp.StatusCode != 503 || got != `{"status":"as told"}` {
			t.Errorf("response = %d %q, want 503 and its whole body", resp.StatusCode, got)
		}
		before := Retried(resp)
		if status, ok := errors.AsType[*StatusError](before.Earlier); before.Attempts != 3 || !ok || status.Code != 503 {
			t.Errorf("Retried() = %v, want 3 attempts and a 503 before", before)
		}
	})
}

func TestADeadlineBetweenAttemptsLeavesTheCauseReachable(t *testing.T) {
	var requests []*http.Request
	header := http.Header{"Retry-After": {"1"}}
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 4}, nil, replies(&requests, header, 503), func(t *testing.T, c *Client) {
		cause := errors.New("the page was closed")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { cancel(cause) })
		req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
		_, err := c.Do(req)
		retry, ok := errors.AsType[*RetryError](err)
		if !ok || retry.Attempts != 2 || !errors.Is(err, cause) {
			t.Errorf("err = %v, want a RetryError of 2 attempts that is the caller's cause", err)
		}
		if status, ok := errors.AsType[*StatusError](err); !ok || status.Code != 503 {
			t.Errorf("err = %v, want the 503 in it", err)
		}
		wantCount(t, c, "request_duration_seconds", "canceled", 1)
		wantIdle(t, c)
	})
}

func TestThePlaceIsFreeDuringThePause(t *testing.T) {
	var requests []*http.Request
	header := http.Header{"Retry-After": {"1"}}
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 2, Queue: capacity.NoQueue}, nil, replies(&requests, header, 503, 200), func(t *testing.T, c *Client) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			resp, err := get(t, c, "/")
			if err != nil {
				t.Error(err)
				return
			}
			read(t, resp)
		}()
		<-time.After(500 * time.Millisecond)
		wantIdle(t, c)
		together(t, c, 1)
		<-done
	})
}

func TestFailedAttemptsLeaveNoConnectionAndNoGoroutine(t *testing.T) {
	var n atomic.Int32
	c, dials := counted(t, capacity.Plan{InFlight: 50, Attempts: 3, RetryShare: 1}, "http", nil, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%3 != 0 {
			w.WriteHeader(503)
		}
		io.WriteString(w, strings.Repeat(".", 1000))
	})
	for range 20 {
		together(t, c, 50)
	}
	if got := dials(); got > 55 {
		t.Errorf("connections for 1000 calls = %d, want 55 at the most", got)
	}
	wantIdle(t, c)
}

func TestAnAttemptThatTimedOutIsRetriedAndTheCallerIsNot(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Attempts: 2, Attempt: 100 * time.Millisecond, Deadline: time.Second}
	var n atomic.Int32
	bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			<-r.Context().Done()
		}
	}, func(t *testing.T, c *Client) {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		wantCount(t, c, "retries_total", "timeout", 1)

		n.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
		_, err = c.Do(req)
		if got := outcomeOf(err, ctx); !errors.Is(err, context.DeadlineExceeded) || got != telemetry.Timeout || n.Load() != 1 {
			t.Errorf("err = %v (%v) after %d requests, want the caller's deadline after 1", err, got, n.Load())
		}
	})
}

func TestARetryErrorSaysACauseThatItsAttemptsShareOnce(t *testing.T) {
	reset, busy := errors.New("connection reset"), &StatusError{Code: 503}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&RetryError{Attempts: 3, Err: reset, Earlier: busy}, "after 3 attempts: connection reset (before that: status 503)"},
		{&RetryError{Attempts: 3, Err: busy, Earlier: &StatusError{Code: 503}}, "after 3 attempts: status 503 (and the same before that)"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
}
