package httpclient

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// slowDial is a DialContext that takes a time.
func slowDial(l *pipenet.Listener, d time.Duration) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case <-time.After(d):
			return l.Dial(ctx, network, address)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// dialed is bubble with a dial of its own, made for the listener that the server
// accepts from.
func dialed(t *testing.T, plan capacity.Plan, o *Options, handler http.HandlerFunc, dial func(*pipenet.Listener) func(context.Context, string, string) (net.Conn, error), test func(t *testing.T, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, "http://upstream.example", plan, withBase(o, &http.Transport{DialContext: dial(newPipeServer(t, handler))}))
		test(t, c)
	})
}

// together makes n calls at once and reads their bodies.
func together(t *testing.T, c *Client, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if resp, err := get(t, c, "/"); err != nil {
				t.Error(err)
			} else {
				read(t, resp)
			}
		})
	}
	wg.Wait()
}

func TestQueueConnectAndHeaderWaitsAreApartOnAColdPool(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Queue: 8, Wait: time.Second}
	dialed(t, plan, nil, slow(20*time.Millisecond), func(l *pipenet.Listener) func(context.Context, string, string) (net.Conn, error) {
		return slowDial(l, 50*time.Millisecond)
	}, func(t *testing.T, c *Client) {
		together(t, c, 12)
		wantWaits(t, c, "queue_wait", 12, 4*0+4*.070+4*.090)
		wantWaits(t, c, "connect_wait", 12, 4*.050)
		wantWaits(t, c, "header_wait", 12, 12*.020)
		wantWaits(t, c, "dial", 4, 4*.050)
	})
}

func TestAWarmPoolHasNoConnectWait(t *testing.T) {
	plan := capacity.Plan{InFlight: 4}
	dialed(t, plan, nil, slow(20*time.Millisecond), func(l *pipenet.Listener) func(context.Context, string, string) (net.Conn, error) {
		return slowDial(l, 50*time.Millisecond)
	}, func(t *testing.T, c *Client) {
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		together(t, c, 4)
		wantWaits(t, c, "connect_wait", 4, 0)
		wantWaits(t, c, "dial", 4, 4*.050)
	})
}

func TestBodyTimeIsFromTheHeadersToTheEnd(t *testing.T) {
	plan := capacity.Plan{InFlight: 1}
	bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/empty" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		for range 3 {
			<-time.After(100 * time.Millisecond)
			w.Write([]byte("."))
			w.(http.Flusher).Flush()
		}
	}, func(t *testing.T, c *Client) {
		for _, path := range []string{"/", "/empty"} {
			resp, err := get(t, c, path)
			if err != nil {
				t.Fatal(err)
			}
			read(t, resp)
		}
		wantWaits(t, c, "header_wait", 2, .100)
		wantWaits(t, c, "body", 1, .200)
		wantWaits(t, c, "request_duration", 2, .300)
	})
}

func TestAConnectionDialedForOneCallMayServeAnother(t *testing.T) {
	plan := capacity.Plan{InFlight: 2}
	var dials atomic.Int32
	dialed(t, plan, nil, slow(20*time.Millisecond), func(l *pipenet.Listener) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			return slowDial(l, time.Duration(dials.Add(1))*100*time.Millisecond)(ctx, network, address)
		}
	}, func(t *testing.T, c *Client) {
		first, cancel := context.WithCancel(t.Context())
		go func() {
			req, _ := http.NewRequestWithContext(first, "GET", "/", nil)
			c.Do(req)
		}()
		<-time.After(10 * time.Millisecond)
		time.AfterFunc(40*time.Millisecond, cancel) // its dial goes on, for 50 ms more
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		// 50 ms of the first, in vain, and 90 ms of the second, from 10 to 100.
		wantWaits(t, c, "connect_wait", 2, .050+.090)
		<-time.After(time.Second)
		wantWaits(t, c, "dial", 2, .100+.200)
	})
}

func TestAWaitInVainCountsToo(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Attempt: 100 * time.Millisecond, Deadline: time.Second, Attempts: capacity.NoRetry}
	bubble(t, plan, nil, slow(time.Minute), func(t *testing.T, c *Client) {
		if _, err := get(t, c, "/"); err == nil {
			t.Fatal("Do() = nil error, want a timeout")
		}
		wantWaits(t, c, "connect_wait", 1, 0)
		wantWaits(t, c, "header_wait", 1, .100)
	})
}

func TestHooksOfTheCallerFireOnceEach(t *testing.T) {
	var counts [6]atomic.Int32
	trace := &httptrace.ClientTrace{
		GetConn:              func(string) { counts[0].Add(1) },
		GotConn:              func(httptrace.GotConnInfo) { counts[1].Add(1) },
		ConnectStart:         func(string, string) { counts[2].Add(1) },
		ConnectDone:          func(string, string, error) { counts[3].Add(1) },
		WroteRequest:         func(httptrace.WroteRequestInfo) { counts[4].Add(1) },
		GotFirstResponseByte: func() { counts[5].Add(1) },
	}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		c, _ := counted(t, capacity.Plan{InFlight: 1}, protocol, nil, slow(0))
		req, _ := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "GET", "/", nil)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if resp.Proto != protocol {
			t.Errorf("protocol = %s, want %s", resp.Proto, protocol)
		}
		for i := range counts {
			eventually(t, protocol+": a hook", func() bool { return counts[i].Load() > 0 }) // HTTP/2 writes on another goroutine
			if got := counts[i].Swap(0); got != 1 {
				t.Errorf("%s: hook %d fired %d times, want once", protocol, i, got)
			}
		}
	}
}

func TestDialHooksThatFireLateRaceWithNothing(t *testing.T) {
	plan := capacity.Plan{InFlight: 8}
	var late atomic.Int32
	dialed(t, plan, nil, slow(0), func(l *pipenet.Listener) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := slowDial(l, 50*time.Millisecond)(ctx, network, address)
			if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.ConnectDone != nil {
				trace.ConnectDone(network, address, err)
			}
			return c, err
		}
	}, func(t *testing.T, c *Client) {
		trace := &httptrace.ClientTrace{ConnectDone: func(string, string, error) { late.Add(1) }}
		for range 8 {
			ctx, cancel := context.WithTimeout(httptrace.WithClientTrace(t.Context(), trace), 10*time.Millisecond)
			req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
			if resp, err := c.Do(req); err == nil { // the dial of one before is done
				resp.Body.Close()
			}
			cancel()
		}
		<-time.After(time.Second)
		if got := late.Load(); got == 0 {
			t.Error("no dial hook fired after its call, want some")
		}
	})
}

func TestWithoutAKnownKeyTheTraceIsSetTheUsualWay(t *testing.T) {
	known := traceKey
	defer func() { traceKey = known }()
	traceKey = nil
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, slow(0))
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	read(t, resp)
	wantCount(t, c, "connect_wait_seconds", "", 1)
}
