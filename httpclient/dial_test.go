package httpclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
	"github.com/offtake-go/offtake/internal/telemetry"
)

type dialFunc = func(context.Context, string, string) (net.Conn, error)

// offline runs a test in a bubble with a client that dials in a way of its own,
// and no server.
func offline(t *testing.T, plan capacity.Plan, dial dialFunc, test func(t *testing.T, c *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, "http://upstream.example", plan, withBase(nil, &http.Transport{DialContext: dial}))
		test(t, c)
		c.Close()
	})
}

func nowhere(context.Context) ([]netip.AddrPort, time.Time, error) {
	return nil, time.Time{}, &net.DNSError{Err: "no such host", IsNotFound: true}
}

// named is a client whose target has these addresses.
func named(at ...string) *Options {
	return &Options{Resolver: func(context.Context) ([]netip.AddrPort, time.Time, error) { return addresses(at...), time.Time{}, nil }}
}

func addresses(at ...string) (all []netip.AddrPort) {
	for _, a := range at {
		all = append(all, netip.AddrPortFrom(netip.MustParseAddr(a), 0))
	}
	return all
}

func hang(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestAHungDialIsBoundedAndGivesThePlaceBack(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Attempt: 20 * time.Millisecond, Deadline: 100 * time.Millisecond, Attempts: capacity.NoRetry}
	offline(t, plan, hang, func(t *testing.T, c *Client) {
		start := time.Now()
		_, err := get(t, c, "/")
		timeout, ok := errors.AsType[*TimeoutError](err)
		if got := time.Since(start); !ok || timeout.Phase != PhaseConnect || got != 20*time.Millisecond {
			t.Errorf("err = %v after %v, want a TimeoutError for the connection after 20ms", err, got)
		}
		wantIdle(t, c)
		wantCount(t, c, "attempts_total", "connect", 1)
		<-time.After(longestConnect) // the dial goes on for the next call, but not for ever
		if n := c.core.pool.Counts().Dialing; n != 0 {
			t.Errorf("slots taken after %v = %d, want 0", longestConnect, n)
		}
	})
}

func TestDialsStayWithinThePlanAndEndWithClose(t *testing.T) {
	plan := capacity.Plan{InFlight: 20, Queue: 500, Wait: time.Second, Attempt: 2 * time.Second, Deadline: 5 * time.Second}
	var under, most atomic.Int32
	offline(t, plan, func(ctx context.Context, _, _ string) (net.Conn, error) {
		most.Store(max(most.Load(), under.Add(1)))
		defer under.Add(-1)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}, func(t *testing.T, c *Client) {
		for range 500 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
				c.Do(req)
			}()
		}
		<-time.After(50 * time.Millisecond) // all have given up
		if got := most.Load(); got > 20 || got == 0 {
			t.Errorf("most dials at once = %d, want 1 to 20", got)
		}
		c.Close()
		synctest.Wait()
		if got := under.Load(); got != 0 {
			t.Errorf("dials after Close = %d, want 0", got)
		}
	})
}

// wantAllRefused makes twenty calls at once, and wants all of them to fail with an
// error after a time.
func wantAllRefused(t *testing.T, c *Client, want error, after time.Duration) {
	t.Helper()
	start := time.Now()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := get(t, c, "/"); !errors.Is(err, want) {
				t.Errorf("err = %v, want %v", err, want)
			}
		})
	}
	wg.Wait()
	if got := time.Since(start); got != after {
		t.Errorf("all had failed after %v, want %v", got, after)
	}
}

func TestWaitersFailTogetherWhenEveryDialFails(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	plan := capacity.Plan{InFlight: 20, Attempts: capacity.NoRetry}
	var dials atomic.Int32
	offline(t, plan, func(context.Context, string, string) (net.Conn, error) {
		dials.Add(1)
		<-time.After(100 * time.Millisecond)
		return nil, refused
	}, func(t *testing.T, c *Client) {
		wantAllRefused(t, c, refused, 100*time.Millisecond)
		if got := dials.Load(); got != 8 {
			t.Errorf("dials = %d, want 8: as many as there may be at once", got)
		}
		wantCount(t, c, "request_duration_seconds", "connect", 20)
	})
}

func TestALookUpThatFailsIsDNS(t *testing.T) {
	for name, tt := range map[string]struct {
		err      error
		attempts int
	}{
		"unknown name":     {&net.DNSError{Err: "no such host", IsNotFound: true}, 1},
		"server failure":   {&net.DNSError{Err: "server misbehaving", IsTemporary: true}, 2},
		"no answer at all": {context.DeadlineExceeded, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan := capacity.Plan{InFlight: 1, Deadline: time.Second, Attempts: 2}
				c := newClient(t, "http://upstream.example", plan, &Options{Resolver: func(ctx context.Context) ([]netip.AddrPort, time.Time, error) {
					if tt.err == context.DeadlineExceeded {
						<-ctx.Done()
						return nil, time.Time{}, ctx.Err()
					}
					return nil, time.Time{}, tt.err
				}})
				_, err := get(t, c, "/")
				if got := outcomeOf(err, t.Context()); got != telemetry.DNS {
					t.Errorf("outcome of %v = %v, want dns", err, got)
				}
				wantCount(t, c, "attempts_total", "dns", float64(tt.attempts))
				wantCount(t, c, "request_duration_seconds", "dns", 1)
				c.Close()
			})
		})
	}
}

func TestAnotherHostOfTheUpstreamGetsAConnectionOfTheFirst(t *testing.T) {
	o := &Options{Hosts: []string{"eu.upstream.example"}}
	plan := capacity.Plan{InFlight: 2, Attempts: capacity.NoRetry}
	dialed(t, plan, o, slow(10*time.Millisecond), func(l *pipenet.Listener) dialFunc { return l.Dial }, func(t *testing.T, c *Client) {
		if err := c.Warm(t.Context()); err != nil { // all connections are to the first host
			t.Fatal(err)
		}
		for i, host := range []string{"eu.upstream.example", "upstream.example", "eu.upstream.example"} {
			start := time.Now()
			together(t, c, 2)
			resp, err := c.Get("http://" + host + "/")
			if err != nil {
				t.Fatalf("call %d to %s = %v, want a response", i, host, err)
			}
			read(t, resp)
			if got := time.Since(start); got != 20*time.Millisecond {
				t.Errorf("call %d to %s ended after %v, want 20ms", i, host, got)
			}
			if got := c.Stats().Open; got > 2 {
				t.Errorf("connections = %d, want 2 at the most", got)
			}
		}
		c.Close()
		if _, err := c.Get("http://eu.upstream.example/"); !errors.Is(err, offtake.ErrClosed) {
			t.Errorf("after Close = %v, want ErrClosed", err)
		}
	})
}

func TestAHostWaitsForAConnectionThatAnotherHasInUse(t *testing.T) {
	o := &Options{Hosts: []string{"eu.upstream.example"}}
	plan := capacity.Plan{InFlight: 2, Connections: 2, Attempts: capacity.NoRetry}
	dialed(t, plan, o, slow(100*time.Millisecond), func(l *pipenet.Listener) dialFunc { return l.Dial }, func(t *testing.T, c *Client) {
		together(t, c, 2) // two idle ones
		var other sync.WaitGroup
		defer other.Wait()
		other.Go(func() { together(t, c, 1) })
		synctest.Wait()
		start := time.Now()
		resp, err := c.Get("http://eu.upstream.example/")
		if err != nil {
			t.Fatalf("call to the other host = %v, want a response", err)
		}
		read(t, resp)
		if got := time.Since(start); got != 100*time.Millisecond {
			t.Errorf("took %v, want 100ms", got)
		}
	})
}
