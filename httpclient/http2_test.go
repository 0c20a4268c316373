package httpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// streamed is a loopback server for HTTP/2 over TLS, with a client for it.
func streamed(t *testing.T, plan capacity.Plan, o *Options, config *http.HTTP2Config, handler http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.HTTP2 = config
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	if o == nil {
		o = new(Options)
	}
	if o.Base == nil {
		o.Base = new(http.Transport)
	}
	o.Base.TLSClientConfig = rootsOf(server)
	if o.Protocols == nil {
		o.Protocols = http2Only()
	}
	return newClient(t, server.URL, plan, o), server
}

func TestParallelCallsShareOneConnection(t *testing.T) {
	both := http2Only()
	both.SetHTTP1(true)
	plan := capacity.Plan{InFlight: 100, Streams: 100}
	c, _ := streamed(t, plan, &Options{Protocols: both}, nil, slow(50*time.Millisecond))
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			resp, err := get(t, c, "/")
			if err != nil {
				t.Error(err)
				return
			}
			if read(t, resp); resp.ProtoMajor != 2 {
				t.Errorf("protocol = %s, want HTTP/2", resp.Proto)
			}
		})
	}
	wg.Wait()
	wantCount(t, c, "dials_total", "", 1)
	wantIdle(t, c)
}

func TestALowerLimitOnStreamsThanPlannedNeitherFailsNorHangsCalls(t *testing.T) {
	plan := capacity.Plan{InFlight: 50, Streams: 50, Queue: 200, Wait: 2 * time.Second, Deadline: 20 * time.Second}
	var inside, most atomic.Int32
	c, _ := streamed(t, plan, nil, &http.HTTP2Config{MaxConcurrentStreams: 10}, func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), inside.Add(1)))
		defer inside.Add(-1)
		<-time.After(10 * time.Millisecond)
		io.WriteString(w, "ok")
	})
	for range 4 {
		together(t, c, 50)
	}
	if got := most.Load(); got > 10 {
		t.Errorf("most requests at the upstream = %d, want 10 at the most", got)
	}
	wantCount(t, c, "request_duration_seconds", "2xx", 200)
	wantCount(t, c, "dials_total", "", 1)
	var waited float64
	for _, s := range samples(t, c) {
		if s.name == "connect_wait_seconds" {
			waited = s.sum
		}
	}
	if waited < .1 {
		t.Errorf("connect waits = %.3fs in all, want the wait for a stream to be seen", waited)
	}
}

func TestNoMoreConnectionsThanPlanned(t *testing.T) {
	plan := capacity.Plan{InFlight: 20, Connections: 2, Streams: 10}
	c, _ := streamed(t, plan, nil, nil, slow(10*time.Millisecond))
	for range 5 {
		together(t, c, 20)
	}
	if got := count(t, c, "dials_total", ""); got != 2 {
		t.Errorf("dials = %v, want 2", got)
	}
}

func TestTooManyCallsAreRefusedWithHTTP2Too(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Streams: 2, Queue: capacity.NoQueue}
	c, _ := streamed(t, plan, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	var open []*http.Response
	for range 2 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, resp)
	}
	_, err := get(t, c, "/")
	if got := outcomeOf(err, t.Context()); got != telemetry.Busy {
		t.Errorf("third call = %v, want busy", err)
	}
	for _, resp := range open {
		resp.Body.Close()
	}
	wantIdle(t, c)
}

func TestAnUpstreamThatTurnsHTTP2DownIsSpokenToInHTTP1(t *testing.T) {
	both := http2Only()
	both.SetHTTP1(true)
	server := httptest.NewUnstartedServer(slow(time.Millisecond))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	plan := capacity.Plan{InFlight: 8, Connections: 2, Streams: 4}
	c := newClient(t, server.URL, plan, &Options{Protocols: both, Base: &http.Transport{TLSClientConfig: rootsOf(server)}})
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	if read(t, resp); resp.ProtoMajor != 1 {
		t.Errorf("protocol = %s, want HTTP/1.1", resp.Proto)
	}
	if got := c.Stats().Places; got != 2 {
		t.Errorf("places = %d, want 2: a place is a connection now", got)
	}
	if err := c.Warm(t.Context()); err != nil {
		t.Errorf("Warm() = %v, want nil", err)
	}
}

func TestAnUpstreamWithoutHTTP2FailsAClientThatSpeaksNothingElse(t *testing.T) {
	server := httptest.NewUnstartedServer(slow(0))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Protocols: http2Only(), Base: &http.Transport{TLSClientConfig: rootsOf(server)}})
	if _, err := get(t, c, "/"); err == nil {
		t.Error("Get() = nil error, want one")
	}
	wantIdle(t, c)
}

func TestHTTP2WithoutTLSIsSpokenWhenNothingElseMayBe(t *testing.T) {
	server := httptest.NewUnstartedServer(slow(0))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	c := newClient(t, server.URL, capacity.Plan{InFlight: 4, Streams: 4}, &Options{Protocols: only})
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	if read(t, resp); resp.ProtoMajor != 2 {
		t.Errorf("protocol = %s, want HTTP/2", resp.Proto)
	}
}

func TestUnreadBodiesDoNotStopTheConnection(t *testing.T) {
	plan := capacity.Plan{InFlight: 10, Streams: 10, Queue: 50, Wait: 2 * time.Second}
	c, _ := streamed(t, plan, nil, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 1<<18))
	})
	for range 50 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	for range 3 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		if got := len(read(t, resp)); got != 1<<18 {
			t.Errorf("body = %d bytes, want %d", got, 1<<18)
		}
	}
	wantCount(t, c, "dials_total", "", 1)
}

func TestAConnectionThatGoesAwayLosesNoRequestWithABodyToRepeat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	var n atomic.Int32
	plan := capacity.Plan{InFlight: 4, Streams: 4}
	c, _ := streamed(t, plan, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%5 == 0 {
			w.Header().Set("Connection", "close") // GOAWAY, in HTTP/2
		}
		io.Copy(w, r.Body)
	})
	for i := range 100 {
		req, _ := http.NewRequestWithContext(t.Context(), "PUT", "/", bytes.NewReader([]byte("from bytes")))
		want := "from bytes"
		if i%2 == 1 {
			body := func() (io.ReadCloser, error) { return os.Open(file) }
			req.Body, _ = body()
			req.GetBody, req.ContentLength, want = body, int64(len("from a file")), "from a file"
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatalf("PUT %d = %v, want a response", i, err)
		}
		if got := read(t, resp); got != want {
			t.Errorf("PUT %d = %q, want %q", i, got, want)
		}
	}
	wantIdle(t, c)
}

func TestALongStreamDoesNotKeepAConnectionThatGoesAway(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Streams: 4, Attempt: 5 * time.Second, Deadline: 10 * time.Second, Attempts: capacity.NoRetry}
	release := make(chan struct{})
	c, _ := streamed(t, plan, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			w.(http.Flusher).Flush()
			<-release
		case "/bye":
			w.Header().Set("Connection", "close")
		}
	})
	long, err := get(t, c, "/long")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/bye", "/", "/", "/"} {
		resp, err := get(t, c, path)
		if err != nil {
			t.Fatalf("GET %s = %v, want a response", path, err)
		}
		read(t, resp)
	}
	close(release)
	read(t, long)
	if got := count(t, c, "dials_total", ""); got > 3 {
		t.Errorf("dials = %v, want 2, or 3 if a request met the first too late", got)
	}
}

// frozen relays to a server until it is frozen: then nothing comes through any
// more, on connections that stand.
type frozen struct {
	net.Listener
	to    string
	stop  atomic.Pointer[chan struct{}]
	taken atomic.Int32
}

func freezer(t *testing.T, to string) *frozen {
	t.Helper()
	f := &frozen{Listener: newListener(t, "127.0.0.1:0"), to: strings.TrimPrefix(to, "https://")}
	first := make(chan struct{})
	f.stop.Store(&first)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			down, err := f.Accept()
			if err != nil {
				return
			}
			f.taken.Add(1)
			up, err := net.Dial("tcp", f.to)
			if err != nil {
				down.Close()
				continue
			}
			mu.Lock()
			conns = append(conns, down, up)
			mu.Unlock()
			stop := *f.stop.Load()
			wg.Go(func() { relay(up, down, stop) })
			wg.Go(func() { relay(down, up, stop) })
		}
	})
	t.Cleanup(func() {
		f.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		close(*f.stop.Load())
		wg.Wait()
	})
	return f
}

// freeze stops all connections that stand; later ones work.
func (f *frozen) freeze() {
	next := make(chan struct{})
	close(*f.stop.Swap(&next))
}

// relay copies until it is stopped, and then only swallows.
func relay(to, from net.Conn, stop chan struct{}) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		select {
		case <-stop:
			return
		default:
		}
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			to.Close()
			return
		}
	}
}

func TestAConnectionWhosePeerIsGoneIsLeftAfterOneAttempt(t *testing.T) {
	for name, base := range map[string]*http.Transport{
		"without a ping":      {},
		"with a ping in time": {HTTP2: &http.HTTP2Config{SendPingTimeout: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := capacity.Plan{InFlight: 4, Streams: 4, Attempt: 500 * time.Millisecond, Deadline: 2 * time.Second, Attempts: capacity.NoRetry}
			_, server := streamed(t, plan, nil, nil, slow(0))
			f := freezer(t, server.URL)
			base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, network, f.Addr().String())
			}
			base.TLSClientConfig = rootsOf(server)
			c := newClient(t, server.URL, plan, &Options{Base: base, Protocols: http2Only()})
			together(t, c, 4)
			f.freeze()
			failed := 0
			for range 10 {
				resp, err := get(t, c, "/")
				if err != nil {
					failed++
					continue
				}
				read(t, resp)
			}
			if failed == 0 || failed > 2 {
				t.Errorf("calls that failed = %d of 10, want 1 or 2", failed)
			}
		})
	}
}

func TestAPeerThatReadsNothingStopsOnlyItsOwnConnection(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Connections: 2, Streams: 4, Attempt: 300 * time.Millisecond, Deadline: time.Second, Attempts: capacity.NoRetry}
	_, server := streamed(t, plan, nil, nil, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	f := freezer(t, server.URL)
	c := newClient(t, server.URL, plan, &Options{Protocols: http2Only(), Base: &http.Transport{
		TLSClientConfig: rootsOf(server),
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, f.Addr().String())
		},
	}})
	together(t, c, 1)
	f.freeze()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.Post("/", "", bytes.NewReader(make([]byte, 8<<20))) // more than any buffer takes
		if _, ok := errors.AsType[*TimeoutError](err); !ok {
			t.Errorf("upload = %v, want a TimeoutError", err)
		}
	})
	failed := 0
	for range 5 {
		if resp, err := get(t, c, "/"); err != nil {
			failed++
		} else {
			read(t, resp)
		}
	}
	wg.Wait()
	if failed > 2 {
		t.Errorf("calls that failed beside the upload = %d of 5, want 2 at the most", failed)
	}
	wantIdle(t, c)
}

func TestABodyThatCanBeReadOnceIsNotSentAgainAndTheErrorSaysSo(t *testing.T) {
	var n atomic.Int32
	plan := capacity.Plan{InFlight: 1}
	c, _ := loopback(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	})
	req, _ := http.NewRequestWithContext(t.Context(), "PUT", "/", io.MultiReader(strings.NewReader("once")))
	_, err := c.Do(req)
	if _, ok := errors.AsType[*OneShotError](err); !ok {
		t.Errorf("err = %v, want a OneShotError", err)
	}
	if got := n.Load(); got != 1 {
		t.Errorf("requests = %d, want 1", got)
	}
}

func TestAnOlderTLSThan12IsNotSpoken(t *testing.T) {
	_, err := New("https://upstream.example", capacity.Plan{InFlight: 1}, &Options{
		Base: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS11}},
	})
	if err == nil || !strings.Contains(err.Error(), "TLS 1.2") {
		t.Errorf("New() = %v, want it to name TLS 1.2", err)
	}
}
