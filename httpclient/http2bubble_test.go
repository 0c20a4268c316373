package httpclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// shared2 runs a test in a bubble with HTTP/2 over net.Pipe, without TLS.
func shared2(t *testing.T, plan capacity.Plan, o *Options, handler http.HandlerFunc, dial func(*pipenet.Listener) dialFunc, test func(*testing.T, *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		only := new(http.Protocols)
		only.SetUnencryptedHTTP2(true)
		l := pipenet.Listen()
		server := &http.Server{Handler: handler, Protocols: only}
		go server.Serve(l)
		t.Cleanup(func() {
			server.Close()
			<-time.After(time.Hour) // for handlers to see it
		})
		if o == nil {
			o = new(Options)
		}
		o.Protocols, o.Base = only, &http.Transport{DialContext: dial(l)}
		test(t, newClient(t, "http://upstream.example", plan, o))
	})
}

func TestWaitsAreExactWithHTTP2Too(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Streams: 4, Queue: 4, Wait: time.Second}
	shared2(t, plan, nil, slow(20*time.Millisecond), func(l *pipenet.Listener) dialFunc {
		return slowDial(l, 50*time.Millisecond)
	}, func(t *testing.T, c *Client) {
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second) // the upstream has stated its limit
		together(t, c, 8)
		wantWaits(t, c, "queue_wait", 8, 4*.020)
		wantWaits(t, c, "connect_wait", 8, 0)
		wantWaits(t, c, "header_wait", 8, 8*.020)
		wantWaits(t, c, "dial", 1, .050)

		c.CloseIdleConnections()
		synctest.Wait()
		together(t, c, 1)
		wantWaits(t, c, "connect_wait", 9, .050)
		wantIdle(t, c)
	})
}

func TestWaitersForAStreamFailTogetherWhenEveryDialFails(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	var dials atomic.Int32
	plan := capacity.Plan{InFlight: 20, Connections: 2, Streams: 10, Attempts: capacity.NoRetry}
	shared2(t, plan, nil, slow(0), func(*pipenet.Listener) dialFunc {
		return func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			<-time.After(100 * time.Millisecond)
			return nil, refused
		}
	}, func(t *testing.T, c *Client) {
		wantAllRefused(t, c, refused, 100*time.Millisecond)
		if got := dials.Load(); got != 2 {
			t.Errorf("dials = %d, want 2", got)
		}
	})
}

func TestHostsShareTheConnectionsOfHTTP2(t *testing.T) {
	o := &Options{Hosts: []string{"eu.upstream.example"}}
	plan := capacity.Plan{InFlight: 4, Streams: 4, Attempts: capacity.NoRetry}
	shared2(t, plan, o, slow(100*time.Millisecond), func(l *pipenet.Listener) dialFunc { return l.Dial }, func(t *testing.T, c *Client) {
		together(t, c, 1)
		var other sync.WaitGroup
		defer other.Wait()
		other.Go(func() { together(t, c, 1) }) // in use, until 100 ms from here
		synctest.Wait()
		start := time.Now()
		resp, err := c.Get("http://eu.upstream.example/")
		if err != nil {
			t.Fatalf("call to the other host = %v, want a response", err)
		}
		read(t, resp)
		if got := time.Since(start); got != 200*time.Millisecond {
			t.Errorf("took %v, want 200ms: the one connection is free after 100ms", got)
		}
		if got := c.Stats().Open; got != 1 {
			t.Errorf("connections = %d, want 1", got)
		}
	})
}

func TestCloseEndsDialsAndWaitsOfHTTP2(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Streams: 4, Attempts: capacity.NoRetry}
	shared2(t, plan, nil, slow(0), func(*pipenet.Listener) dialFunc { return hang }, func(t *testing.T, c *Client) {
		start := time.Now()
		time.AfterFunc(10*time.Millisecond, func() { c.Close() })
		if _, err := get(t, c, "/"); err == nil {
			t.Error("Do() = nil error, want one")
		}
		if got := time.Since(start); got != 10*time.Millisecond {
			t.Errorf("the call ended after %v, want 10ms", got)
		}
	})
}

func TestTheMostStreamsThatOneConnectionHasArePlanned(t *testing.T) {
	var inside, most atomic.Int32
	plan := capacity.Plan{InFlight: 20, Connections: 4, Streams: 5}
	shared2(t, plan, nil, func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), inside.Add(1)))
		<-time.After(10 * time.Millisecond)
		inside.Add(-1)
	}, func(l *pipenet.Listener) dialFunc { return l.Dial }, func(t *testing.T, c *Client) {
		for range 5 {
			together(t, c, 20)
		}
		wantCount(t, c, "dials_total", "", 4)
		if got := most.Load(); got != 20 {
			t.Errorf("most requests at the upstream = %d, want 20", got)
		}
	})
}
