package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func TestACallComesBackAsFromAnyClient(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2}, nil, slow(10*time.Millisecond), func(t *testing.T, c *Client) {
		resp, err := get(t, c, "http://upstream.example/pay")
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got != "ok" || resp.StatusCode != 200 {
			t.Errorf("response = %d %q, want 200 ok", resp.StatusCode, got)
		}
		wantIdle(t, c)
	})
}

func TestRelativeAddressesAreTheUpstreams(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.Path)
	})
	resp, err := c.Get("/authorize")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, resp); got != "/authorize" {
		t.Errorf("path = %q, want /authorize", got)
	}
}

func TestACallWaitsForAPlaceAndIsRefusedWhenTheWaitIsOver(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Queue: 1, Wait: 50 * time.Millisecond}
	bubble(t, plan, nil, slow(time.Second), func(t *testing.T, c *Client) {
		go func() {
			if resp, err := get(t, c, "/first"); err == nil {
				read(t, resp)
			}
		}()
		<-time.After(time.Millisecond)
		start := time.Now()
		_, err := get(t, c, "/second")
		if got, want := time.Since(start), 50*time.Millisecond; got != want {
			t.Errorf("refused after %v, want %v", got, want)
		}
		refusal, ok := errors.AsType[*offtake.Error](err)
		if !ok || !errors.Is(err, offtake.ErrBusy) {
			t.Fatalf("err = %v, want an *offtake.Error that is ErrBusy", err)
		}
		if refusal.InFlight != 1 || refusal.Places != 1 || refusal.Waited != 50*time.Millisecond || refusal.Upstream != "upstream.example" {
			t.Errorf("refusal = %+v, want 1 of 1 places and a wait of 50ms", refusal)
		}
		<-time.After(time.Second)
		wantIdle(t, c)
	})
}

func TestAPlaceIsHeldUntilTheBodyEnds(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *http.Response, context.CancelFunc){
		"read to its end":      func(t *testing.T, r *http.Response, _ context.CancelFunc) { io.ReadAll(r.Body) },
		"closed":               func(t *testing.T, r *http.Response, _ context.CancelFunc) { r.Body.Close() },
		"closed twice":         func(t *testing.T, r *http.Response, _ context.CancelFunc) { r.Body.Close(); r.Body.Close() },
		"closed after its end": func(t *testing.T, r *http.Response, _ context.CancelFunc) { read(t, r) },
		"cancelled and read":   func(t *testing.T, r *http.Response, cancel context.CancelFunc) { cancel(); io.ReadAll(r.Body) },
		"leaked, until Deadline": func(t *testing.T, r *http.Response, _ context.CancelFunc) {
			<-time.After(2 * time.Second)
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := capacity.Plan{InFlight: 1, Deadline: 2 * time.Second, Attempt: time.Second, Attempts: capacity.NoRetry}
			bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
				w.Write(make([]byte, 100_000))
			}, func(t *testing.T, c *Client) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
				resp, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if got := c.Stats().InFlight; got != 1 {
					t.Errorf("in flight with an open body = %d, want 1", got)
				}
				end(t, resp, cancel)
				wantIdle(t, c)
				if again, err := get(t, c, "/again"); err != nil {
					t.Errorf("the next call = %v, want a response", err)
				} else {
					read(t, again)
				}
			})
		})
	}
}

func TestBoundsEndACallExactly(t *testing.T) {
	plan := capacity.Plan{
		InFlight: 1, Attempts: capacity.NoRetry,
		Attempt: 100 * time.Millisecond, BodyIdle: 200 * time.Millisecond, Deadline: time.Second,
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		ctx     func(context.Context) context.Context
		phase   Phase
		after   time.Duration
	}{
		{"no headers", slow(time.Minute), nil, PhaseAttempt, 100 * time.Millisecond},
		{"a body that stops", drip(3, 10*time.Millisecond), nil, PhaseBodyIdle, 220 * time.Millisecond},
		{"a body that never ends", drip(1e6, 10*time.Millisecond), nil, PhaseDeadline, time.Second},
		{"a stream that stops", drip(300, 10*time.Millisecond), Stream, PhaseBodyIdle, 3190 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, plan, nil, tt.handler, func(t *testing.T, c *Client) {
				ctx := t.Context()
				if tt.ctx != nil {
					ctx = tt.ctx(ctx)
				}
				req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
				start := time.Now()
				resp, err := c.Do(req)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
				}
				timeout, ok := errors.AsType[*TimeoutError](err)
				if !ok || timeout.Phase != tt.phase || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("err = %v, want a TimeoutError for %s", err, tt.phase)
				}
				if got := time.Since(start); got != tt.after {
					t.Errorf("ended after %v, want %v", got, tt.after)
				}
				wantIdle(t, c)
			})
		})
	}
}

// drip sends a byte n times, with pauses, and then nothing until the client has
// gone.
func drip(n int, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := range n {
			if i > 0 {
				select {
				case <-time.After(pause):
				case <-r.Context().Done():
					return
				}
			}
			if _, err := w.Write([]byte{'.'}); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

func TestTheCallersCauseComesBack(t *testing.T) {
	cause := errors.New("the customer closed the page")
	bubble(t, capacity.Plan{InFlight: 1}, nil, slow(time.Minute), func(t *testing.T, c *Client) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
		req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
		if _, err := c.Do(req); !errors.Is(err, cause) {
			t.Errorf("err = %v, want %v", err, cause)
		}
		wantIdle(t, c)
	})
}

func TestOtherHostsAreRefused(t *testing.T) {
	c := newClient(t, "https://Processor.Example:443", capacity.Plan{InFlight: 1}, &Options{Hosts: []string{"eu.processor.example"}})
	for _, url := range []string{"https://evil.example/", "http://processor.example/", "https://processor.example:8443/"} {
		_, err := c.Get(url)
		if _, ok := errors.AsType[*HostError](err); !ok {
			t.Errorf("Get(%q) = %v, want a HostError", url, err)
		}
	}
}

func TestShutdownWaitsForBodiesAndRefusesNewCalls(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2}, nil, slow(100*time.Millisecond), func(t *testing.T, c *Client) {
		var wg sync.WaitGroup
		wg.Go(func() {
			if resp, err := get(t, c, "/"); err != nil {
				t.Errorf("the running call = %v, want a response", err)
			} else {
				read(t, resp)
			}
		})
		<-time.After(10 * time.Millisecond)
		start := time.Now()
		wg.Go(func() {
			if err := c.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown() = %v, want nil", err)
			}
			if got, want := time.Since(start), 90*time.Millisecond; got != want {
				t.Errorf("Shutdown took %v, want %v", got, want)
			}
		})
		<-time.After(10 * time.Millisecond)
		if _, err := get(t, c, "/late"); !errors.Is(err, offtake.ErrClosed) {
			t.Errorf("a late call = %v, want ErrClosed", err)
		}
		wg.Wait()
	})
}

func TestWarmDialsWhatTheFirstBurstNeeds(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		c, dials := counted(t, capacity.Plan{InFlight: 10, Queue: capacity.NoQueue}, scheme, slow(20*time.Millisecond))
		if err := c.Warm(t.Context()); err != nil {
			t.Fatalf("Warm() = %v, want nil", err)
		}
		eventually(t, "10 connections after Warm", func() bool { return dials() == 10 })
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if resp, err := get(t, c, "/"); err != nil {
					t.Error(err)
				} else {
					read(t, resp)
				}
			})
		}
		wg.Wait()
		if got := dials(); got != 10 {
			t.Errorf("%s: connections after the burst = %d, want 10", scheme, got)
		}
	}
}

func TestNewReturnsEveryMistake(t *testing.T) {
	_, err := New("ftp://x.example/path", capacity.Plan{InFlight: -1, Deadline: 60_000 * time.Second}, &Options{
		MaxBody: -7, Connect: -1, Hosts: []string{"a/b"}, WarmPath: "healthz",
	})
	for _, field := range []string{"scheme", "InFlight", "Deadline", "MaxBody", "Connect", "Hosts[0]", "WarmPath", "paths belong"} {
		if err == nil || !contains(err.Error(), field) {
			t.Errorf("New() = %v, want it to name %s", err, field)
		}
	}
}

func TestProtocolsMustSuitTheTarget(t *testing.T) {
	onlyClear := new(http.Protocols)
	onlyClear.SetUnencryptedHTTP2(true)
	for target, p := range map[string]*http.Protocols{
		"https://upstream.example": onlyClear,
		"http://upstream.example":  http2Only(),
		"http://other.example":     new(http.Protocols),
	} {
		if _, err := New(target, capacity.Plan{InFlight: 1}, &Options{Protocols: p}); err == nil || !contains(err.Error(), "Options.Protocols") {
			t.Errorf("New(%q) with %v = %v, want it to name Options.Protocols", target, p, err)
		}
	}
}
