package httpclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

func TestRepeatedBodiesAreTheSameBytes(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 100<<10/16)
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, want, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (io.ReadCloser, error) { return os.Open(file) }
	for name, tt := range map[string]struct {
		body     func() (io.Reader, func() (io.ReadCloser, error))
		attempts int32
	}{
		"bytes":     {func() (io.Reader, func() (io.ReadCloser, error)) { return bytes.NewReader(want), nil }, 2},
		"a file":    {func() (io.Reader, func() (io.ReadCloser, error)) { f, _ := open(); return f, open }, 2},
		"read once": {func() (io.Reader, func() (io.ReadCloser, error)) { return io.MultiReader(bytes.NewReader(want)), nil }, 1},
		"GetBody bad": {func() (io.Reader, func() (io.ReadCloser, error)) {
			return bytes.NewReader(want), func() (io.ReadCloser, error) { return nil, errors.New("the file is gone") }
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			var sums [2][32]byte
			c, _ := loopback(t, capacity.Plan{InFlight: 1, Attempts: 2}, nil, func(w http.ResponseWriter, r *http.Request) {
				i := n.Add(1)
				if i == 1 { // in the middle of the body
					io.CopyN(io.Discard, r.Body, 1000)
					conn, _, _ := w.(http.Hijacker).Hijack()
					conn.(*net.TCPConn).SetLinger(0)
					conn.Close()
					return
				}
				b, _ := io.ReadAll(r.Body)
				sums[1] = sha256.Sum256(b)
			})
			body, getBody := tt.body()
			req, _ := http.NewRequestWithContext(t.Context(), "PUT", "/", body)
			if getBody != nil {
				req.GetBody, req.ContentLength = getBody, int64(len(want))
			}
			resp, err := c.Do(req)
			if err == nil {
				read(t, resp)
			}
			if got := n.Load(); got != tt.attempts {
				t.Errorf("requests = %d, want %d (%v)", got, tt.attempts, err)
			}
			if tt.attempts == 2 && sums[1] != sha256.Sum256(want) {
				t.Error("the second attempt had other bytes")
			}
			wantIdle(t, c)
		})
	}
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

func TestRetriesStayAShareOfRequests(t *testing.T) {
	var requests []*http.Request
	plan := capacity.Plan{InFlight: 100, Attempts: 4, RetryShare: .1}
	bubble(t, plan, nil, replies(&requests, nil, 503), func(t *testing.T, c *Client) {
		for range 100 {
			together(t, c, 10)
		}
		if got := len(requests); got > 1010 {
			t.Errorf("requests for 1000 calls that all fail = %d, want 1010 at the most: failures pay for no retries", got)
		}
		if got := count(t, c, "limited_total", "retry_budget"); got < 900 {
			t.Errorf("retries denied = %v, want most", got)
		}
		if got := c.Stats().Retries; got >= 1 {
			t.Errorf("retries left = %v, want none", got)
		}
	})
}

func TestBusyAnswersPayForNoRetries(t *testing.T) {
	var requests []*http.Request
	header := http.Header{"Retry-After": {"0"}}
	bubble(t, capacity.Plan{InFlight: 10, Attempts: 4, RetryShare: 1}, nil, replies(&requests, header, 429), func(t *testing.T, c *Client) {
		together(t, c, 10)
		if got := len(requests); got > 10+3 {
			t.Errorf("requests for 10 calls = %d, want 13 at the most", got)
		}
	})
}

func TestOnePoisonedItemBlocksNoOther(t *testing.T) {
	var poison atomic.Int32
	plan := capacity.Plan{InFlight: 10, Queue: 100, Wait: 2 * time.Second, Attempts: 4, Deadline: 20 * time.Second}
	bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/poison" {
			poison.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
		}
	}, func(t *testing.T, c *Client) {
		done := make(chan int, 1)
		go func() {
			resp, err := get(t, c, "/poison")
			if err != nil {
				t.Error(err)
				done <- 0
				return
			}
			read(t, resp)
			done <- resp.StatusCode
		}()
		start := time.Now()
		together(t, c, 99)
		if got := time.Since(start); got > 2*time.Second {
			t.Errorf("the others took %v, want 2s at the most", got)
		}
		if got := <-done; got != 429 || poison.Load() > 4 {
			t.Errorf("the poisoned one = %d after %d requests, want 429 after 4 at the most", got, poison.Load())
		}
	})
}

func TestALongBusySpellLeavesNothingBehind(t *testing.T) {
	var busy atomic.Bool
	busy.Store(true)
	bubble(t, capacity.Plan{InFlight: 5}, nil, func(w http.ResponseWriter, _ *http.Request) {
		if busy.Load() {
			w.WriteHeader(429)
		}
	}, func(t *testing.T, c *Client) {
		for range 50 {
			together(t, c, 5)
			<-time.After(100 * time.Millisecond)
		}
		busy.Store(false)
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		if read(t, resp); resp.StatusCode != 200 {
			t.Errorf("the first call after it = %d, want 200", resp.StatusCode)
		}
	})
}

func TestFailedAttemptsLeaveNoConnectionAndNoGoroutine(t *testing.T) {
	var n atomic.Int32
	c, dials := counted(t, capacity.Plan{InFlight: 50, Attempts: 3, RetryShare: 1}, "http", func(w http.ResponseWriter, _ *http.Request) {
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

func TestACallThatIsARetryIsNotRetried(t *testing.T) {
	var requests []*http.Request
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 4}, nil, replies(&requests, nil, 503), func(t *testing.T, c *Client) {
		req, _ := http.NewRequestWithContext(incoming.NewContext(t.Context(), 2), "GET", "/", nil)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if len(requests) != 1 {
			t.Errorf("requests = %d, want 1", len(requests))
		}
	})
}

func TestThreeLayersOfRetriesDoNotMultiply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bottom atomic.Int32
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			bottom.Add(1)
			w.WriteHeader(503)
		})
		plan := capacity.Plan{InFlight: 20, Attempts: 3, RetryShare: .2, Deadline: 10 * time.Second}
		var top *Client
		for range 3 {
			l := newPipeServer(t, handler)
			c := newClient(t, "http://upstream.example", plan, &Options{Base: &http.Transport{DialContext: l.Dial}})
			handler = func(w http.ResponseWriter, r *http.Request) {
				ctx := r.Context()
				if n, ok := incoming.AttemptOf(r.Header); ok {
					ctx = incoming.NewContext(ctx, n)
				}
				req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
				resp, err := c.Do(req)
				if err != nil {
					w.WriteHeader(502)
					return
				}
				defer resp.Body.Close()
				w.WriteHeader(resp.StatusCode)
			}
			top = c
		}
		for range 10 {
			together(t, top, 10)
		}
		if got := bottom.Load(); got > 200 {
			t.Errorf("requests at the bottom for 100 calls = %d, want 200 at the most", got)
		}
	})
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
