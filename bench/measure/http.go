package measure

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// Layer measures what each stack adds to a transport that answers at once.
func Layer(stacks []peers.HTTP, rounds, n int) ([]Cost, error) {
	instead := func(http.RoundTripper) http.RoundTripper { return answer{} }
	return httpCosts(stacks, "http://upstream.example", new(http.Transport), instead, false, rounds, n)
}

// Loopback measures each stack with a real server: over HTTP/1.1, TLS, or HTTP/2.
func Loopback(stacks []peers.HTTP, secure, http2 bool, rounds, n int) ([]Cost, error) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if http2 != (r.ProtoMajor == 2) || secure != (r.TLS != nil) { // or it would be something else that is measured
			w.WriteHeader(http.StatusHTTPVersionNotSupported)
		}
		io.WriteString(w, "ok")
	}))
	base := &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}
	server.EnableHTTP2 = http2
	if secure {
		server.StartTLS()
		base.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		base.ForceAttemptHTTP2 = http2
		if !http2 {
			base.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
		}
	} else {
		server.Start()
	}
	defer server.Close()
	defer base.CloseIdleConnections()
	return httpCosts(stacks, server.URL, base, nil, http2, rounds, n)
}

func httpCosts(stacks []peers.HTTP, url string, base *http.Transport, wrap peers.Wrap, http2 bool, rounds, n int) ([]Cost, error) {
	var ops []Op
	for _, stack := range stacks {
		client, err := stack.New(base, wrap, url, peers.Sizes{InFlight: 4, Deadline: 10 * time.Second, HTTP2: http2})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stack.Name, err)
		}
		defer client.Stop()
		ops = append(ops, Op{stack.Name, func(n int) error {
			for range n {
				if status, err := client.Do(context.Background(), url); err != nil || status != http.StatusOK {
					return fmt.Errorf("%s: status %d: %w", stack.Name, status, err)
				}
			}
			return nil
		}})
	}
	return Costs(ops, rounds, n)
}

// answer is a transport that does nothing.
type answer struct{}

func (answer) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: io.NopCloser(strings.NewReader("ok")), ContentLength: 2, Request: req,
	}, nil
}
