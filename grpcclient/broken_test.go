package grpcclient

import (
	"context"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

func TestAStormOfGoAwaysFailsNoCallAndLosesNoPlace(t *testing.T) {
	address := loopback(t, &upstream{}, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 15 * time.Millisecond, MaxConnectionAgeGrace: time.Second}))
	c := dial(t, address, capacity.Plan{InFlight: 16, Streams: 4, Wait: time.Second, Attempt: 4 * time.Second}, &Options{Methods: idempotent(codes.Unavailable)})
	warm(t, c)
	var group sync.WaitGroup
	end := time.Now().Add(time.Second)
	for range 16 {
		group.Go(func() {
			for time.Now().Before(end) {
				if err := ask(context.Background(), c); err != nil {
					t.Errorf("call = %v, want nil", err)
					return
				}
			}
		})
	}
	group.Wait()
	wantIdle(t, c)
	c.core.pool.mu.Lock()
	defer c.core.pool.mu.Unlock()
	for l := range c.core.pool.filler.linksLocked() {
		if got := l.streams.Load(); got != 0 {
			t.Errorf("calls counted on a link after all have ended = %d, want 0", got)
		}
	}
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
	var (
		group sync.WaitGroup
		calls atomic.Int64
	)
	stop := make(chan struct{})
	for range 16 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					ask(context.Background(), c)
					calls.Add(1)
				}
			}
		})
	}
	for range 10 {
		seen := calls.Load()
		for calls.Load() < seen+50 {
			runtime.Gosched()
		}
		f.cut()
	}
	close(stop)
	group.Wait()
	wantIdle(t, c)
	for _, l := range c.core.readyLinks() {
		if got := l.streams.Load(); got != 0 {
			t.Errorf("calls counted on a link after all have ended = %d, want 0", got)
		}
	}
}

func TestClientsOfAServerThatRestartsComeBackOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 200
		var (
			mu    sync.Mutex
			back  []time.Duration
			since time.Time
		)
		l := pipenet.Listen()
		u := &upstream{}
		server := serve(t, l, u)
		for range clients {
			first := true
			c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1}, &Options{
				Dial: func(ctx context.Context, address string) (net.Conn, error) {
					mu.Lock()
					if !first {
						back = append(back, time.Since(since))
					}
					first = false
					at := l
					mu.Unlock()
					return at.Dial(ctx, "", address)
				},
			})
			warm(t, c)
		}
		mu.Lock()
		l, since = pipenet.Listen(), time.Now()
		mu.Unlock()
		server.Stop()
		serve(t, l, u)
		<-time.After(5 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(back) != clients {
			t.Fatalf("dials after the restart = %d, want %d", len(back), clients)
		}
		slices.Sort(back)
		for i := range back {
			n := 0
			for _, at := range back[i:] {
				if at-back[i] < 100*time.Millisecond {
					n++
				}
			}
			if n > clients/4 {
				t.Errorf("clients back within the 100ms from %v = %d of %d, want at most a quarter", back[i], n, clients)
			}
		}
	})
}
