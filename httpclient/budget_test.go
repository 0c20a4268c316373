package httpclient

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/incoming"
)

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
		if got := c.Stats().RetryBalance; got >= 1 {
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
