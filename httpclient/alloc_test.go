//go:build !race

// The race detector allocates too, and is not what is measured here.

package httpclient

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
)

func TestARefusalAllocatesOnce(t *testing.T) {
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, nil)
	c.core.gate.TryEnter()
	req, _ := http.NewRequest("GET", "http://upstream.example/", nil)
	if got := testing.AllocsPerRun(1000, func() { c.core.RoundTrip(req) }); got > 1 {
		t.Errorf("allocations of a refusal = %v, want 1", got)
	}
}

func TestACallNeedsNoMoreAllocationsThanNetHTTP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer server.Close()
	measure := func(c *http.Client) float64 {
		return testing.AllocsPerRun(2000, func() {
			resp, err := c.Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		})
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	bare := measure(&http.Client{Transport: transport})
	c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Registerer: prometheus.NewRegistry()})
	if got := measure(c.Client); got > bare {
		t.Errorf("allocations of a call = %v, want the %v of net/http alone at the most", got, bare)
	}
}
