package httpclient

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// ours counts the goroutines that run code of this package or of net/http's
// client on its behalf.
func ours() int {
	b := make([]byte, 4<<20)
	b = b[:runtime.Stack(b, true)]
	n := 0
	for stack := range strings.SplitSeq(string(b), "\n\n") {
		if strings.Contains(stack, "(*persistConn)") || strings.Contains(stack, "http2ClientConn") ||
			strings.Contains(stack, "httpclient.(*") && !strings.Contains(stack, "_test.go") {
			n++
		}
	}
	return n
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	for _, protocol := range []string{"http", "https", "HTTP/2.0"} {
		before := ours()
		c, _ := counted(t, capacity.Plan{InFlight: 8}, protocol, nil, slow(time.Millisecond))
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			together(t, c, 8)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
		if resp, err := c.Do(req); err == nil {
			resp.Body.Close()
		}
		cancel()
		c.Close()
		eventually(t, protocol+": the end of all goroutines", func() bool { return ours() <= before })
		if got := c.Stats().Open; got != 0 {
			t.Errorf("%s: connections after Close = %d, want 0", protocol, got)
		}
	}
}

func TestNoCallHasAGoroutineOfItsOwn(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 50}, nil, slow(time.Second), func(t *testing.T, c *Client) {
		together(t, c, 50) // each of its connections has two
		synctest.Wait()
		idle := ours()
		go together(t, c, 50)
		<-time.After(550 * time.Millisecond) // between two glances of the timers
		if got := ours() - idle; got > 50 {
			t.Errorf("goroutines for 50 calls = %d, want none but the callers' own 50", got)
		}
		<-time.After(time.Second)
	})
}

func TestABodyReadToItsEndNeedsNoClose(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1}, nil, slow(0), func(t *testing.T, c *Client) {
		before := runtime.NumGoroutine()
		for range 100 {
			resp, err := get(t, c, "/")
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 100)
			for err == nil {
				_, err = resp.Body.Read(b)
			}
		}
		synctest.Wait()
		// The connection has two of the client's, and one of the server's.
		if got := runtime.NumGoroutine() - before; got > 4 {
			t.Errorf("goroutines after 100 unclosed bodies = %d more, want 4 at the most", got)
		}
		wantIdle(t, c)
	})
}
