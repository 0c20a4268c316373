package httpclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

func TestWhatWorksIsKeptWhileNothingBetterCanBeHad(t *testing.T) {
	var down atomic.Bool
	dialed(t, capacity.Plan{InFlight: 4, Attempts: capacity.NoRetry}, &Options{MaxAge: time.Second}, slow(time.Millisecond), func(l *pipenet.Listener) dialFunc {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			if down.Load() {
				return nil, errors.New("no route to host")
			}
			return l.Dial(ctx, network, address)
		}
	}, func(t *testing.T, c *Client) {
		together(t, c, 4)
		down.Store(true)
		for range 100 { // ten times the age
			<-time.After(100 * time.Millisecond)
			together(t, c, 4)
		}
		if got := c.Stats(); got.Open != 4 || got.Oldest < 9*time.Second {
			t.Errorf("open = %d, the oldest %v, want the 4 there were", got.Open, got.Oldest)
		}
		down.Store(false)
		for range 100 {
			<-time.After(100 * time.Millisecond)
			together(t, c, 4)
		}
		if got := c.Stats(); got.Oldest > 2*time.Second {
			t.Errorf("the oldest is %v once dials work again, want it replaced", got.Oldest)
		}
	})
}

func TestAPoolComesBackThoughNoCallerWaitsForTheFirstExchangeOfAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type fresh struct{}
		l := pipenet.Listen()
		server := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				took := 5 * time.Millisecond
				if r.Context().Value(fresh{}).(*atomic.Bool).Swap(false) {
					took = 150 * time.Millisecond
				}
				select {
				case <-time.After(took):
				case <-r.Context().Done():
				}
			}),
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
				first := new(atomic.Bool)
				first.Store(true)
				return context.WithValue(ctx, fresh{}, first)
			},
		}
		go server.Serve(l)
		c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 4, Attempts: capacity.NoRetry, Attempt: time.Second, Deadline: time.Second}, withBase(nil, &http.Transport{DialContext: l.Dial}))
		failed := 0
		for i := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			resp, err := c.Do(req)
			if err == nil {
				read(t, resp)
			} else if i >= 4 {
				failed++
			}
			cancel()
			<-time.After(100 * time.Millisecond)
		}
		if failed > 0 {
			t.Errorf("%d of the last 16 calls failed, want none: the first exchanges have run to their ends", failed)
		}
		wantIdle(t, c)
		c.Close()
		server.Close()
		<-time.After(time.Hour)
	})
}

func TestOneBoundHoldsForAWholeDial(t *testing.T) {
	proxy := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example"})}
	proxy.DialContext = func(context.Context, string, string) (net.Conn, error) { // silent on CONNECT
		near, far := net.Pipe()
		go io.Copy(io.Discard, far)
		return near, nil
	}
	for _, protocols := range []*http.Protocols{nil, http2Only()} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, "https://upstream.example", capacity.Plan{InFlight: 2}, &Options{Base: proxy, Protocols: protocols})
			start := time.Now()
			err := c.Warm(t.Context())
			if got := time.Since(start); err == nil || got != longestConnect {
				t.Errorf("Warm() = %v after %v, want an error after %v", err, got, longestConnect)
			}
			if n := c.core.pool.Counts(); n.Dialing != 0 {
				t.Errorf("dials under way = %d, want 0", n.Dialing)
			}
			c.Close()
		})
	}
}

func TestAConnectionThatTheUpstreamClosesIsSeenAtOnceAndReplaced(t *testing.T) {
	idleServer(t, capacity.Plan{InFlight: 8, Attempts: capacity.NoRetry}, 2*time.Second, &Options{WarmPath: "/"}, func(t *testing.T, c *Client) {
		together(t, c, 1)
		<-time.After(2 * time.Second)
		synctest.Wait()
		if got := c.Stats().Open; got != 0 {
			t.Errorf("open after the upstream has closed it = %d, want 0", got)
		}
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		full := 0
		for range 100 { // the upstream closes all of them every two seconds
			<-time.After(370 * time.Millisecond)
			synctest.Wait()
			if c.Stats().Open == 8 {
				full++
			}
		}
		if full < 75 {
			t.Errorf("all 8 stood %d times of 100, want most: what is closed is replaced", full)
		}
	})
}

func TestTheServersWordOnIdleConnectionsIsHeeded(t *testing.T) {
	var dials atomic.Int32
	dialed(t, capacity.Plan{InFlight: 2, Attempts: capacity.NoRetry}, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Keep-Alive", "timeout=5, max=100")
	}, func(l *pipenet.Listener) dialFunc {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			return l.Dial(ctx, network, address)
		}
	}, func(t *testing.T, c *Client) {
		for _, tt := range []struct {
			idle  time.Duration
			dials int32
		}{{0, 1}, {3900 * time.Millisecond, 1}, {4 * time.Second, 2}} {
			<-time.After(tt.idle)
			together(t, c, 1)
			if got := dials.Load(); got != tt.dials {
				t.Errorf("dials after %v idle = %d, want %d", tt.idle, got, tt.dials)
			}
		}
	})
}

// mute is a connection whose peer is gone without a word, from some time on.
type mute struct {
	net.Conn
	gone *atomic.Bool
}

func (m mute) Write(p []byte) (int, error) {
	if m.gone.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

func TestAfterSilenceARetryGetsAFreshConnection(t *testing.T) {
	var gone atomic.Pointer[atomic.Bool]
	gone.Store(new(atomic.Bool))
	plan := capacity.Plan{InFlight: 8, Attempts: 2, Attempt: 100 * time.Millisecond, Deadline: time.Second, RetryShare: 1}
	dialed(t, plan, nil, slow(time.Millisecond), func(l *pipenet.Listener) dialFunc {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := l.Dial(ctx, network, address)
			return mute{Conn: c, gone: gone.Load()}, err
		}
	}, func(t *testing.T, c *Client) {
		together(t, c, 8)
		before := gone.Swap(new(atomic.Bool)) // what is dialed from now on is well
		before.Store(true)
		for range 3 {
			together(t, c, 2) // fails the test if a call fails
		}
		if got := count(t, c, "retries_total", ""); got > 4 {
			t.Errorf("retries = %v, want 4 at the most: who was idle for as long is suspect too", got)
		}
	})
}

func TestAThousandDeadAddressesCostFewDialsAndAShortError(t *testing.T) {
	var all []netip.AddrPort
	for i := range 1000 {
		all = append(all, netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1, byte(i / 250), byte(1 + i%250)}), 1))
	}
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry}, &Options{Resolver: func(context.Context) ([]netip.AddrPort, time.Time, error) {
		return all, time.Time{}, nil
	}})
	_, err := get(t, c, "/")
	if err == nil || len(err.Error()) > 500 || !strings.Contains(err.Error(), "of 1000 addresses") {
		t.Errorf("err = %.600v, want a short one that says how many there are", err)
	}
}

// TestAResolverMayDoAnything has one that is empty, fails, panics, blocks, repeats
// itself or changes all the time.
func TestAResolverMayDoAnything(t *testing.T) {
	server := newListener(t, "127.0.0.1:0")
	go http.Serve(server, slow(0))
	good := netip.MustParseAddrPort(server.Addr().String())
	var n atomic.Int32
	for name, tt := range map[string]struct {
		resolve func(context.Context) ([]netip.AddrPort, error)
		ok      bool
	}{
		"empty":   {func(context.Context) ([]netip.AddrPort, error) { return nil, nil }, false},
		"fails":   {func(context.Context) ([]netip.AddrPort, error) { return nil, errors.New("no") }, false},
		"panics":  {func(context.Context) ([]netip.AddrPort, error) { panic("no") }, false},
		"blocks":  {func(ctx context.Context) ([]netip.AddrPort, error) { <-ctx.Done(); return nil, ctx.Err() }, false},
		"repeats": {func(context.Context) ([]netip.AddrPort, error) { return []netip.AddrPort{good, good, good}, nil }, true},
		"then fails": {func(context.Context) ([]netip.AddrPort, error) {
			if n.Add(1) > 1 {
				return nil, nil
			}
			return []netip.AddrPort{good}, nil
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			plan := capacity.Plan{InFlight: 4, Attempts: capacity.NoRetry, Attempt: 200 * time.Millisecond, Deadline: time.Second}
			c := newClient(t, "http://upstream.example", plan, &Options{Resolver: func(ctx context.Context) ([]netip.AddrPort, time.Time, error) {
				all, err := tt.resolve(ctx)
				return all, time.Time{}, err
			}})
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 3 {
						resp, err := get(t, c, "/")
						if err == nil {
							read(t, resp)
						}
						if (err == nil) != tt.ok {
							t.Errorf("call = %v, want success %v", err, tt.ok)
						}
					}
				})
			}
			wg.Wait()
			wantIdle(t, c)
		})
	}
}

func TestARefusedDialDoesNotKeepOthersFromBeingTried(t *testing.T) {
	var dials atomic.Int32
	plan := capacity.Plan{InFlight: 4, Connections: 2, Streams: 2, Attempts: capacity.NoRetry, Attempt: 2 * time.Second, Deadline: 4 * time.Second}
	shared2(t, plan, nil, slow(500*time.Millisecond), func(l *pipenet.Listener) dialFunc {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials.Add(1) == 2 {
				return nil, errors.New("refused")
			}
			return l.Dial(ctx, network, address)
		}
	}, func(t *testing.T, c *Client) {
		start := time.Now()
		together(t, c, 4)
		if got := time.Since(start); got > 700*time.Millisecond {
			t.Errorf("took %v, want a second dial soon after the refused one", got)
		}
		if got := dials.Load(); got != 3 {
			t.Errorf("dials = %d, want 3", got)
		}
	})
}
