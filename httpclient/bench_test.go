package httpclient

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
)

// answer is a RoundTripper that does nothing, so that what is measured is the
// layer around it.
type answer struct{}

func (answer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader("ok")), ContentLength: 2, Request: req,
	}, nil
}

func BenchmarkLayer(b *testing.B) {
	b.Run("bare", func(b *testing.B) { calls(b, &http.Client{Transport: answer{}}, "http://upstream.example/") })
	b.Run("offtake", func(b *testing.B) {
		c := benchClient(b, "http://upstream.example", &Options{Wrap: func(http.RoundTripper) http.RoundTripper { return answer{} }})
		calls(b, c.Client, "http://upstream.example/")
	})
}

func BenchmarkLoopback(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer server.Close()
	b.Run("bare", func(b *testing.B) {
		calls(b, &http.Client{Transport: &http.Transport{DisableCompression: true}}, server.URL)
	})
	b.Run("offtake", func(b *testing.B) { calls(b, benchClient(b, server.URL, nil).Client, server.URL) })
}

// BenchmarkRefused is the price of saying no.
func BenchmarkRefused(b *testing.B) {
	c := benchClient(b, "http://upstream.example", nil)
	c.core.gate.Enter(b.Context())
	req, _ := http.NewRequest("GET", "http://upstream.example/", nil)
	b.ReportAllocs()
	defer reportCPU(b)()
	for b.Loop() {
		if _, err := c.core.RoundTrip(req); err == nil {
			b.Fatal("RoundTrip() = nil, want a refusal")
		}
	}
}

func benchClient(b *testing.B, target string, o *Options) *Client {
	b.Helper()
	if o == nil {
		o = new(Options)
	}
	o.Registerer = prometheus.NewRegistry()
	c, err := New(target, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue, Wait: time.Second}, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

func calls(b *testing.B, c *http.Client, url string) {
	b.ReportAllocs()
	defer reportCPU(b)()
	for b.Loop() {
		resp, err := c.Get(url)
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
