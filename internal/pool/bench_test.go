package pool

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/internal/endpoint"
)

// BenchmarkRoundTrip is one exchange over loopback, beside http.Transport with as
// many connections.
func BenchmarkRoundTrip(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	transport := &http.Transport{DisableCompression: true, MaxConnsPerHost: 32, MaxIdleConnsPerHost: 32}
	defer transport.CloseIdleConnections()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	p := New(Options{
		Scheme: "http", Hosts: []string{host}, Address: func(string) string { return host }, Protocols: *protocols,
		Maker:   func(*http.Protocols) *http.Transport { return &http.Transport{DisableCompression: true} },
		Connect: time.Second, Longest: time.Second, Idle: time.Minute, MaxAge: time.Hour, Events: new(told),
	}, Sizes{Connections: 32, Attempt: time.Second})
	defer p.Close()
	ours := func(req *http.Request) (*http.Response, error) {
		var l Lease
		if _, err := p.Acquire(req.Context(), host, Want{}, &l); err != nil {
			return nil, err
		}
		resp, err := l.RoundTrip(req)
		l.Answer(time.Now(), endpoint.Success, err)
		l.Done(time.Now())
		return resp, err
	}
	for _, engine := range []struct {
		name string
		send func(*http.Request) (*http.Response, error)
	}{{"transport", transport.RoundTrip}, {"pool", ours}} {
		exchange := func(b *testing.B) {
			req, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, server.URL, nil)
			resp, err := engine.send(req)
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		b.Run(engine.name+"/one", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				exchange(b)
			}
		})
		b.Run(engine.name+"/many", func(b *testing.B) {
			b.SetParallelism(16) // times two processors: as many as there are connections, which is what a gate in front lets in
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					exchange(b)
				}
			})
		})
	}
}
