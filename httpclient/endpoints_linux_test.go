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
	wantEndpoints(t, c, 3, 1, "127.0.0.3:"+port)
	c.Observe(true)
	wantEndpoints(t, c, 3, 1, "127.0.0.3:"+port)
}

// wantEndpoints wants so many endpoints, at most so many of them left out, and the
// worst first, in Endpoints and in the metrics alike.
func wantEndpoints(t *testing.T, c *Client, n, most int, worst string) {
	t.Helper()
	all := c.Endpoints()
	out := 0
	for _, e := range all {
		if e.LeftOut {
			out++
		}
	}
	if len(all) != n || out > most {
		t.Fatalf("endpoints, left out = %d, %d, want %d, %d at the most", len(all), out, n, most)
	}
	if first := all[0]; worst != "" && (first.Address != worst || first.Failures == 0 || first.Error == "") {
		t.Errorf("first endpoint = %+v, want %s with its failures", first, worst)
	}
	wantCount(t, c, "endpoints", "used", float64(n-out))
	wantCount(t, c, "endpoints", "left_out", float64(out))
	if left := count(t, c, "endpoints_left_out_total", "failing"); int(left) < out {
		t.Errorf("endpoints_left_out_total{failing} = %v, want the %d at least", left, out)
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
	wantEndpoints(t, c, 2, 0, "")
}
