package httpclient

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func TestShutdownWaitsForBodiesAndRefusesNewCalls(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2}, nil, slow(100*time.Millisecond), func(t *testing.T, c *Client) {
		var wg sync.WaitGroup
		wg.Go(func() {
			if resp, err := get(t, c, "/"); err != nil {
				t.Errorf("the running call = %v, want a response", err)
			} else {
				read(t, resp)
			}
		})
		<-time.After(10 * time.Millisecond)
		start := time.Now()
		wg.Go(func() {
			if err := c.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown() = %v, want nil", err)
			}
			if got, want := time.Since(start), 90*time.Millisecond; got != want {
				t.Errorf("Shutdown took %v, want %v", got, want)
			}
		})
		<-time.After(10 * time.Millisecond)
		if _, err := get(t, c, "/late"); !errors.Is(err, offtake.ErrClosed) {
			t.Errorf("a late call = %v, want ErrClosed", err)
		}
		wg.Wait()
	})
}

func TestResizeTakesEffectAtOnceAndKeepsWarmConnections(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 4, Queue: 8, Wait: time.Second}, nil, slow(100*time.Millisecond), func(t *testing.T, c *Client) {
		together(t, c, 4)
		if err := c.Resize(capacity.Plan{InFlight: 8, Queue: 8}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		together(t, c, 8)
		if got := time.Since(start); got != 100*time.Millisecond {
			t.Errorf("8 calls after Resize took %v, want 100ms", got)
		}
		wantCount(t, c, "dials_total", "", 8)
		if err := c.Resize(capacity.Plan{InFlight: 2, Queue: 8, Wait: time.Second}); err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		together(t, c, 8)
		if got := time.Since(start); got != 400*time.Millisecond {
			t.Errorf("8 calls with 2 places took %v, want 400ms", got)
		}
		if got := c.Stats().Open; got > 2 {
			t.Errorf("connections = %d, want 2 at the most", got)
		}
	})
}
