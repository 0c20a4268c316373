package httpclient

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
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

func TestAnUpstreamWithoutAStreamToSpareIsNotOneWithoutAConnection(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Streams: 2, Attempts: capacity.NoRetry, Attempt: 300 * time.Millisecond, Deadline: 10 * time.Second}
	release := make(chan struct{})
	c, _ := streamed(t, plan, nil, &http.HTTP2Config{MaxConcurrentStreams: 1}, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		<-release
	})
	held, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = get(t, c, "/")
	if timeout, ok := errors.AsType[*TimeoutError](err); !ok || timeout.Phase != PhaseConnect || !timeout.NoStream {
		t.Errorf("Get() = %v, want a TimeoutError for want of a stream", err)
	}
	close(release)
	read(t, held)
	wantIdle(t, c)
}
