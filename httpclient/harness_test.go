package httpclient

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// nobody is an address on which nobody listens, and nobody will: the port of a
// listener that was closed may be the next one's.
const nobody = "127.0.0.1:1"

// bubble runs a test with a real server and a real client over net.Pipe, in time
// that stands still while anything runs.
func bubble(t *testing.T, plan capacity.Plan, o *Options, handler http.HandlerFunc, test func(t *testing.T, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := newPipeServer(t, handler)
		c := newClient(t, "http://upstream.example", plan, withBase(o, &http.Transport{DialContext: l.Dial}))
		test(t, c)
	})
}

// loopback runs a test with a real server on a socket.
func loopback(t *testing.T, plan capacity.Plan, o *Options, handler http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c := newClient(t, server.URL, plan, o)
	return c, server
}

func newClient(t *testing.T, target string, plan capacity.Plan, o *Options) *Client {
	t.Helper()
	if o == nil {
		o = new(Options)
	}
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	c, err := New(target, plan, o)
	if err != nil {
		t.Fatalf("New(%q) = %v, want nil", target, err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func withBase(o *Options, base *http.Transport) *Options {
	if o == nil {
		o = new(Options)
	}
	o.Base = base
	return o
}

func get(t *testing.T, c *Client, path string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(req)
}

// read reads a body to its end and closes it.
func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("read body: %v", err)
	}
	resp.Body.Close()
	return string(b)
}

func wantIdle(t *testing.T, c *Client) {
	t.Helper()
	if s := c.Stats(); s.InFlight != 0 || s.Queued != 0 {
		t.Errorf("in flight, queued = %d, %d, want 0, 0", s.InFlight, s.Queued)
	}
}

func slow(d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // or the server would not see the client go
		select {
		case <-time.After(d):
			io.WriteString(w, "ok")
		case <-r.Context().Done():
		}
	}
}

// counted is a loopback server that counts the connections it has accepted. It
// speaks "http" or "https" in HTTP/1.1, or one of "HTTP/1.1" and "HTTP/2.0" over
// TLS.
func counted(t *testing.T, plan capacity.Plan, protocol string, o *Options, handler http.HandlerFunc) (*Client, func() int64) {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			n.Add(1)
		}
	}
	if o == nil {
		o = new(Options)
	}
	switch protocol {
	case "http":
		server.Start()
	case "HTTP/2.0":
		o.Protocols = http2Only()
		server.EnableHTTP2 = true
		fallthrough
	default:
		server.StartTLS()
		o.Base = &http.Transport{TLSClientConfig: rootsOf(server)}
	}
	t.Cleanup(server.Close)
	return newClient(t, server.URL, plan, o), n.Load
}

// rootsOf trusts a test server.
func rootsOf(server *httptest.Server) *tls.Config {
	return &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
}

func http2Only() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP2(true)
	return p
}

func contains(s, part string) bool { return strings.Contains(s, part) }

// eventually waits for what another goroutine is about to do.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for patience := time.After(10 * time.Second); !done(); {
		select {
		case <-patience:
			t.Fatalf("never came: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}

// newPipeServer serves over net.Pipe, inside a bubble.
func newPipeServer(t *testing.T, handler http.HandlerFunc) *pipenet.Listener {
	t.Helper()
	l := pipenet.Listen()
	server := &http.Server{Handler: handler}
	go server.Serve(l)
	t.Cleanup(func() {
		server.Close()
		<-time.After(time.Hour) // for handlers to see it
	})
	return l
}
