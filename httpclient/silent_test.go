package httpclient

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// poisoned is an upstream with n warm connections that closes the connection of
// each request for /poison, and counts them.
func poisoned(t *testing.T, n int, plan capacity.Plan) (*Client, *atomic.Int32) {
	t.Helper()
	var sent atomic.Int32
	plan.InFlight = max(1, n)
	c := raw(t, plan, &Options{WarmPath: "/"}, answers(func(conn net.Conn, req *http.Request) bool {
		if req.URL.Path == "/poison" {
			sent.Add(1)
			return false
		}
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		return err == nil
	}))
	if n > 0 {
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return c, &sent
}

func TestOneRequestIsNotSentOnceForEachWarmConnection(t *testing.T) {
	for _, tt := range []struct {
		warm int
		want int32
	}{{0, 1}, {1, 2}, {10, 2}, {50, 2}} {
		c, sent := poisoned(t, tt.warm, capacity.Plan{Attempts: capacity.NoRetry})
		if _, err := get(t, c, "/poison"); err == nil {
			t.Error("Get() = nil error, want one")
		}
		if got := sent.Load(); got != tt.want {
			t.Errorf("with %d warm connections, sent %d times, want %d", tt.warm, got, tt.want)
		}
		wantIdle(t, c)
	}
}

func TestNeitherIsItOverTLSWhereAPeerSaysGoodbye(t *testing.T) {
	for _, protocol := range []string{"http", "https"} {
		var deadly atomic.Bool
		var sent atomic.Int32
		plan := capacity.Plan{InFlight: 10, Attempts: 3, Deadline: 5 * time.Second}
		c, _ := counted(t, plan, protocol, nil, func(http.ResponseWriter, *http.Request) {
			if deadly.Load() {
				sent.Add(1)
				panic(http.ErrAbortHandler)
			}
		})
		for range 5 {
			together(t, c, 10)
		}
		deadly.Store(true)
		if _, err := get(t, c, "/"); !errors.Is(err, errSilentRetries) {
			t.Errorf("%s: Get() = %v, want %v", protocol, err, errSilentRetries)
		}
		if got := sent.Load(); got != 2 {
			t.Errorf("%s: sent %d times, want 2", protocol, got)
		}
	}
}

func TestSilentRetriesAreChargedAndNotRetriedOnTop(t *testing.T) {
	c, sent := poisoned(t, 10, capacity.Plan{Attempts: 5})
	before := c.Stats().RetryBalance
	_, err := get(t, c, "/poison")
	if !errors.Is(err, errSilentRetries) {
		t.Errorf("err = %v, want %v", err, errSilentRetries)
	}
	if got := sent.Load(); got != 2 {
		t.Errorf("sent %d times, want 2", got)
	}
	if got := c.Stats().RetryBalance - before; got != -1 {
		t.Errorf("the budget changed by %v, want -1", got)
	}
	wantCount(t, c, "retries_total", "silent", 1)
}

func TestTheTransportRepeatsOnlyWhatMayBeRepeated(t *testing.T) {
	for _, tt := range []struct {
		method, key string
		want        int32
	}{
		{"POST", "", 1}, {"PATCH", "", 1}, {"PUT", "", 1}, {"DELETE", "", 1}, {"POST", "k", 2},
	} {
		c, sent := poisoned(t, 5, capacity.Plan{Attempts: capacity.NoRetry})
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, "/poison", strings.NewReader("x"))
		if tt.key != "" {
			req.Header.Set("Idempotency-Key", tt.key)
		}
		c.Do(req)
		if got := sent.Load(); got != tt.want {
			t.Errorf("%s with key %q sent %d times, want %d", tt.method, tt.key, got, tt.want)
		}
	}
}

func TestAConnectionThatTheUpstreamClosedWhenIdleFailsNobody(t *testing.T) {
	c := raw(t, capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry}, nil, answers(func(conn net.Conn, _ *http.Request) bool {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return false // with unsolicited bytes before the end
	}))
	for i := range 20 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatalf("call %d = %v, want a response", i, err)
		}
		if read(t, resp); resp.StatusCode != 200 {
			t.Errorf("call %d: status %d, want 200", i, resp.StatusCode)
		}
		eventually(t, "the end of the connection", func() bool { return c.Stats().Open == 0 })
	}
}

func TestPostsSpacedAtTheIdleTimeoutOfTheServerDoNotFail(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry}
	idleServer(t, plan, 200*time.Millisecond, &Options{Idle: 100 * time.Millisecond}, func(t *testing.T, c *Client) {
		for i := range 200 {
			resp, err := c.Post("/", "text/plain", io.MultiReader(strings.NewReader("once")))
			if err != nil {
				t.Fatalf("POST %d = %v, want a response", i, err)
			}
			read(t, resp)
			<-time.After(200 * time.Millisecond)
		}
	})
}

func TestAGetBodyThatReturnsNothingIsAnErrorOfTheCallers(t *testing.T) {
	c, sent := poisoned(t, 1, capacity.Plan{Attempts: capacity.NoRetry})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "/poison", strings.NewReader(strings.Repeat("x", 2*inOneWrite)))
	req.Header.Set("Idempotency-Key", "1")
	req.GetBody = func() (io.ReadCloser, error) { return nil, nil }
	_, err := c.Do(req)
	if OutcomeOf(err) != Caller || !errors.Is(err, errNoBody) {
		t.Errorf("Do() = %v, want %v, a fault of the caller's", err, errNoBody)
	}
	if got := sent.Load(); got != 1 {
		t.Errorf("sent %d times, want 1", got)
	}
	wantIdle(t, c)
}
