package httpclient

// All of 127.0.0.0/8 is one's own on Linux alone.

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

func TestOneEndpointOfThreeThatFailsAtOnceGetsATrickle(t *testing.T) {
	var conns [3]atomic.Int32
	port := serveAt(t, &conns[0], "127.0.0.1:0")
	serveAt(t, &conns[1], "127.0.0.2:"+port)
	bad := newListener(t, "127.0.0.3:"+port)
	var failed atomic.Int32
	go http.Serve(bad, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		failed.Add(1)
		w.WriteHeader(http.StatusBadGateway)
	}))
	c := newClient(t, "http://upstream.example:"+port, capacity.Plan{InFlight: 9, Attempts: 2, RetryShare: 0.2}, named("127.0.0.1", "127.0.0.2", "127.0.0.3"))
	if err := c.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for range 400 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			lost++
		}
		read(t, resp)
	}
	if lost > 0 || failed.Load() > 8 {
		t.Errorf("%d of 400 calls lost and %d sent to the endpoint that fails, want none and 8 at the most", lost, failed.Load())
	}
	n := c.core.pool.Judgements()
	if n.Endpoints != 3 || n.Out > 1 {
		t.Errorf("endpoints, left out = %d, %d, want 3, 1 at the most", n.Endpoints, n.Out)
	}
	if c.Observe(true); c.core.pool.Judgements().Endpoints != 3 {
		t.Error("endpoints changed by Observe, want 3 as before")
	}
}

func TestABusyEndpointIsNotLeftOut(t *testing.T) {
	var conns atomic.Int32
	port := serveAt(t, &conns, "127.0.0.1:0")
	busy := newListener(t, "127.0.0.2:"+port)
	go http.Serve(busy, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	c := newClient(t, "http://upstream.example:"+port, capacity.Plan{InFlight: 4, Attempts: capacity.NoRetry}, named("127.0.0.1", "127.0.0.2"))
	if err := c.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		together(t, c, 1)
	}
	if n := c.core.pool.Judgements(); n.Out != 0 {
		t.Errorf("left out = %d, want none", n.Out)
	}
}
