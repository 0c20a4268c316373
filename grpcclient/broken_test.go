package grpcclient

import (
	"context"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"

	"github.com/offtake-go/offtake/capacity"
)

func TestAStormOfGoAwaysFailsNoCallAndLosesNoPlace(t *testing.T) {
	address := loopback(t, &upstream{}, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 15 * time.Millisecond, MaxConnectionAgeGrace: time.Second}))
	const storm = 40 // connections, one after the other
	dialed := make(chan struct{}, 10*storm)
	c := dial(t, address, capacity.Plan{InFlight: 16, Streams: 4, Wait: time.Second, Attempt: 4 * time.Second}, &Options{
		Methods: idempotent(codes.Unavailable),
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			dialed <- struct{}{}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		},
	})
	warm(t, c)
	stop := hammer(c, 16, wantNil(t))
	for range storm {
		<-dialed
	}
	stop()
	wantIdle(t, c)
	c.core.pool.mu.Lock()
	defer c.core.pool.mu.Unlock()
	for l := range c.core.pool.linksLocked() {
		if got := l.streams.Load(); got != 0 {
			t.Errorf("calls counted on a link after all have ended = %d, want 0", got)
		}
	}
}

// TestAServerThatKeepsNoConnectionIsNotDialedWithoutPause: whoever is sent away comes
// back, and must not do so as fast as the server answers.
func TestAServerThatKeepsNoConnectionIsNotDialedWithoutPause(t *testing.T) {
	for _, tt := range []struct {
		name  string
		calls int // that wait
		takes time.Duration
		dials int64
	}{
		{"with nobody waiting", 0, time.Hour, 40},
		{"with calls waiting", 8, time.Hour, 300},
		{"with calls that are answered", 8, time.Millisecond, 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, slow(tt.takes), grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 5 * time.Millisecond, MaxConnectionAgeGrace: time.Millisecond}))
				c := dial(t, fleetName, capacity.Plan{InFlight: 8}, f.options())
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				c.Warm(ctx)
				var group sync.WaitGroup
				for range tt.calls {
					group.Go(func() {
						for ctx.Err() == nil {
							ask(ctx, c)
						}
					})
				}
				group.Wait()
				<-ctx.Done()
				if got := f.dialed(); got < 3 || got > tt.dials {
					t.Errorf("dials in 10s of a server that sends each away after 5ms = %d, want at least 3 and at most %d", got, tt.dials)
				}
			})
		})
	}
}

// torn is a codec with a mistake in it.
type torn struct{}

func (torn) Marshal(any) ([]byte, error) { panic("a mistake of the user's") }
func (torn) Unmarshal([]byte, any) error { panic("a mistake of the user's") }
func (torn) Name() string                { return "torn" }

// TestAPanicInACodecGivesThePlaceOnItsLinkBack: grpc-go has a stream by then, and
// never says that it is over.
func TestAPanicInACodecGivesThePlaceOnItsLinkBack(t *testing.T) {
	r, recorder := prometheus.NewRegistry(), tracetest.NewSpanRecorder()
	o := &Options{Registerer: r, TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(recorder))}
	bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{}, func(t *testing.T, c *Conn) {
		warm(t, c)
		for range 3 {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("call with a codec that panics returned, want the panic")
					}
				}()
				ask(t.Context(), c, grpc.ForceCodec(torn{}))
			}()
			wantIdle(t, c)
			if got := c.core.readyLinks()[0].streams.Load(); got != 0 {
				t.Errorf("calls counted on a link after a panic = %d, want 0", got)
			}
		}
		wantCalls(t, r, "UNKNOWN", 3)
		if _, got := series(t, r, "offtake_client_attempts_total", map[string]string{"outcome": "UNKNOWN"}); got != 3 {
			t.Errorf("attempts that panicked = %v, want 3", got)
		}
		if got := len(recorder.Ended()); got != 3 {
			t.Errorf("spans ended = %d, want 3", got)
		}
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("the next call = %v, want nil", err)
		}
	})
}

// TestACallThatEndsAfterItsInterceptorHasPanickedIsCountedOnce: the call is taken off
// its link with the panic, and grpc-go says later that it is over.
func TestACallThatEndsAfterItsInterceptorHasPanickedIsCountedOnce(t *testing.T) {
	ended := make(chan error, 1)
	torn := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, options ...grpc.CallOption) error {
		go func() { ended <- invoker(ctx, method, req, reply, cc, options...) }()
		<-time.After(time.Millisecond)
		panic("a mistake of the user's")
	}
	o := &Options{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(torn)}}
	bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{call: slow(time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		ended = make(chan error, 1) // of the bubble
		func() {
			defer func() { _ = recover() }()
			ask(t.Context(), c)
		}()
		<-ended
		if got := c.core.readyLinks()[0].streams.Load(); got != 0 {
			t.Errorf("calls counted on the link = %d, want 0", got)
		}
		wantIdle(t, c)
	})
}

// flapping cuts connections at random times.
type flapping struct{ conns sync.Map }

func (f *flapping) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		f.conns.Store(c, true)
	}
	return c, err
}

func (f *flapping) cut() {
	f.conns.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		f.conns.Delete(c)
		return true
	})
}

func TestLinksThatBreakAreCountedRight(t *testing.T) {
	address := loopback(t, &upstream{})
	var f flapping
	c := dial(t, address, capacity.Plan{InFlight: 16, Streams: 4, Deadline: 3 * time.Second}, &Options{Dial: f.dial})
	warm(t, c)
	var calls atomic.Int64
	stop := hammer(c, 16, func(error) { calls.Add(1) })
	for range 5 {
		seen := calls.Load()
		for calls.Load() < seen+50 {
			runtime.Gosched()
		}
		f.cut()
	}
	stop()
	wantIdle(t, c)
	for _, l := range c.core.readyLinks() {
		if got := l.streams.Load(); got != 0 {
			t.Errorf("calls counted on a link after all have ended = %d, want 0", got)
		}
	}
}
