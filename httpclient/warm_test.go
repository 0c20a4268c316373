package httpclient

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestWarmBySendingRequestsProvesThatThePoolHasTheConnections(t *testing.T) {
	for _, path := range []string{"/healthz", "*"} {
		for _, scheme := range []string{"http", "https"} {
			var asked atomic.Int32
			handler := func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == path {
					asked.Add(1)
				}
				<-time.After(5 * time.Millisecond)
				io.WriteString(w, "ok")
			}
			first, dials := counted(t, capacity.Plan{InFlight: 10, Queue: capacity.NoQueue}, scheme, nil, handler)
			o := first.core.options
			c := newClient(t, first.core.target.String(), capacity.Plan{InFlight: 10, Queue: capacity.NoQueue}, &Options{WarmPath: path, Base: o.Base})
			if err := c.Warm(t.Context()); err != nil {
				t.Fatalf("%s %s: Warm() = %v, want nil", scheme, path, err)
			}
			if got := dials(); got != 10 {
				t.Errorf("%s %s: connections after Warm = %d, want 10", scheme, path, got)
			}
			together(t, c, 10)
			if got := dials(); got != 10 {
				t.Errorf("%s %s: connections after the burst = %d, want 10", scheme, path, got)
			}
			if got := asked.Load(); path == "/healthz" && got != 10 {
				t.Errorf("%s %s: warm-up requests = %d, want 10: one on each", scheme, path, got)
			}
			wantIdle(t, c)
		}
	}
}

// wantWarmError wants a report that names a cause.
func wantWarmError(t *testing.T, c *Client, ctx context.Context, cause string) {
	t.Helper()
	err := c.Warm(ctx)
	warm, ok := errors.AsType[*WarmError](err)
	if !ok || warm.Got >= warm.Want || !strings.Contains(err.Error(), cause) {
		t.Errorf("Warm() = %v, want a WarmError that says %q", err, cause)
	}
	wantIdle(t, c)
}

func TestWarmSaysWhyItIsNotWarm(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	t.Run("connections are closed", func(t *testing.T) {
		c, _ := loopback(t, capacity.Plan{InFlight: 5}, &Options{WarmPath: "/"}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
		})
		wantWarmError(t, c, t.Context(), "Connection: close")
	})
	t.Run("the endpoint fails", func(t *testing.T) {
		c, _ := loopback(t, capacity.Plan{InFlight: 5}, &Options{WarmPath: "/nope"}, http.NotFound)
		wantWarmError(t, c, t.Context(), "GET /nope: status 404")
	})
	t.Run("fewer are served than planned", func(t *testing.T) {
		var n atomic.Int32
		plan := capacity.Plan{InFlight: 20, Attempt: 300 * time.Millisecond, Deadline: time.Second}
		c := raw(t, plan, &Options{WarmPath: "/"}, func(conn net.Conn, r *bufio.Reader) {
			serve := n.Add(1) <= 12
			answers(func(net.Conn, *http.Request) bool {
				if serve {
					io.WriteString(conn, ok)
				}
				return true
			})(conn, r)
		})
		wantWarmError(t, c, t.Context(), "deadline exceeded")
	})
	t.Run("nobody listens", func(t *testing.T) {
		c := newClient(t, "http://"+nobody, capacity.Plan{InFlight: 5}, nil)
		wantWarmError(t, c, t.Context(), "refused")
		wantCount(t, c, "dials_total", "connect", 1) // asked once
	})
	t.Run("the upstream closes what it accepts", func(t *testing.T) {
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil {
				_, _ = conn.Read(make([]byte, 1)) // until its end has come
			}
			return conn, err
		}
		c := raw(t, capacity.Plan{InFlight: 5}, withBase(nil, &http.Transport{DialContext: dial}), func(net.Conn, *bufio.Reader) {})
		wantWarmError(t, c, t.Context(), "the upstream closed")
	})
	t.Run("the name is unknown", func(t *testing.T) {
		c := newClient(t, "http://upstream.invalid", capacity.Plan{InFlight: 5}, &Options{Resolver: nowhere})
		wantWarmError(t, c, t.Context(), "no such host")
	})
	t.Run("the context ends", func(t *testing.T) {
		offline(t, capacity.Plan{InFlight: 5}, hang, func(t *testing.T, c *Client) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			start := time.Now()
			wantWarmError(t, c, ctx, "deadline exceeded")
			if got := time.Since(start); got != 50*time.Millisecond {
				t.Errorf("Warm returned after %v, want 50ms", got)
			}
		})
	})
	t.Run("a proxy is in between", func(t *testing.T) {
		c := newClient(t, "https://upstream.example", capacity.Plan{InFlight: 5}, &Options{Base: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: nobody})}})
		wantWarmError(t, c, t.Context(), "proxyconnect")
	})
	t.Run("the client is closed", func(t *testing.T) {
		c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 5}, nil)
		c.Close()
		wantWarmError(t, c, t.Context(), "closed")
	})
}

func TestWarmOpensPlannedConnectionsOfHTTP2(t *testing.T) {
	for _, path := range []string{"", "/"} {
		plan := capacity.Plan{InFlight: 30, Connections: 3, Streams: 10}
		c, _ := streamed(t, plan, &Options{WarmPath: path}, nil, slow(time.Millisecond))
		if err := c.Warm(t.Context()); err != nil {
			t.Fatalf("Warm() = %v, want nil", err)
		}
		together(t, c, 30)
		wantCount(t, c, "dials_total", "", 3)
	}
}

func TestAFailedWarmIsNotRepeatedAtOnce(t *testing.T) {
	refuse := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	offline(t, capacity.Plan{InFlight: 5}, refuse, func(t *testing.T, c *Client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n := 0
		for ; ctx.Err() == nil; n++ {
			if err := c.Warm(ctx); err == nil {
				t.Fatal("Warm() = nil, want an error")
			}
		}
		// Pauses are 2.5 s on average once they are at their longest.
		if n > 100 {
			t.Errorf("warmings in a minute = %d, want 100 at the most", n)
		}
	})
}

func TestWarmingTakesNoPlace(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 4}, &Options{WarmPath: "/"}, slow(10*time.Millisecond), func(t *testing.T, c *Client) {
		for range 4 {
			c.core.gate.TryEnter()
		}
		if err := c.Warm(t.Context()); err != nil {
			t.Errorf("Warm() with all places taken = %v, want nil", err)
		}
		if got := c.Stats().Open; got != 4 {
			t.Errorf("connections = %d, want 4", got)
		}
		for range 4 {
			c.core.gate.Leave()
		}
	})
}

func TestTheClientKeepsItselfWarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeServer(t, slow(0))
		c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 10, Attempts: capacity.NoRetry}, &Options{Idle: time.Second, Base: &http.Transport{DialContext: l.Dial}})
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 200 { // a trickle uses one connection, and the others grow old
			<-time.After(300 * time.Millisecond)
			together(t, c, 1)
			synctest.Wait()
			if got := c.Stats().Open; got < 9 || got > 10 {
				t.Fatalf("connections with a trickle of calls = %d, want 9 or 10", got)
			}
		}
		before := count(t, c, "dials_total", "")
		c.Close()
		<-time.After(time.Minute)
		if got := c.Stats().Open; got != 0 {
			t.Errorf("connections after Close = %d, want 0", got)
		}
		if before < 60 {
			t.Errorf("dials = %v, want the old connections replaced", before)
		}
	})
}

func TestAConnectionThatDiedInReserveIsNotGivenOut(t *testing.T) {
	server := httptest.NewUnstartedServer(slow(0))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c := newClient(t, server.URL, capacity.Plan{InFlight: 5, Attempts: capacity.NoRetry}, &Options{Base: &http.Transport{TLSClientConfig: rootsOf(server)}})
	if err := c.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.CloseClientConnections()
	for range 5 {
		resp, err := c.Post("/", "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatalf("POST = %v, want a response", err)
		}
		read(t, resp)
	}
}

func TestWarmDialsWhatTheFirstBurstNeeds(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		c, dials := counted(t, capacity.Plan{InFlight: 10, Queue: capacity.NoQueue}, scheme, nil, slow(20*time.Millisecond))
		if err := c.Warm(t.Context()); err != nil {
			t.Fatalf("Warm() = %v, want nil", err)
		}
		eventually(t, "10 connections after Warm", func() bool { return dials() == 10 })
		together(t, c, 10)
		if got := dials(); got != 10 {
			t.Errorf("%s: connections after the burst = %d, want 10", scheme, got)
		}
	}
}
