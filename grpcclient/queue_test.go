package grpcclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// crowd makes n calls at once and returns how long each took, in order.
func crowd(t *testing.T, c *Conn, n int) []time.Duration {
	t.Helper()
	var (
		group sync.WaitGroup
		took  = make([]time.Duration, n)
	)
	for i := range n {
		group.Go(func() {
			began := time.Now()
			if err := ask(context.Background(), c); err != nil {
				t.Errorf("call %d = %v, want nil", i, err)
			}
			took[i] = time.Since(began)
		})
	}
	group.Wait()
	slices.Sort(took)
	return took
}

// busiest serves in a time and keeps the most calls it ever had at once.
type busiest struct{ now, most atomic.Int64 }

func (b *busiest) in(d time.Duration) unaryHandler {
	return func(ctx context.Context, body []byte) ([]byte, error) {
		n := b.now.Add(1)
		defer b.now.Add(-1)
		for m := b.most.Load(); n > m && !b.most.CompareAndSwap(m, n); m = b.most.Load() {
		}
		return slow(d)(ctx, body)
	}
}

func TestFortyCallsOnTenStreamsWaitInTheGateAndNowhereElse(t *testing.T) {
	for name, plan := range map[string]capacity.Plan{
		"as the plan has it":      {InFlight: 10, Queue: 30, Wait: time.Second},
		"as the server allows it": {InFlight: 40, Queue: 40, Wait: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b busiest
				r := prometheus.NewRegistry()
				c := piped(t, plan, &Options{Registerer: r}, &upstream{call: b.in(100 * time.Millisecond)}, grpc.MaxConcurrentStreams(10))
				c.Warm(t.Context()) // with 40 places it says that they do not fit
				for i, got := range crowd(t, c, 40) {
					if want := time.Duration(i/10+1) * 100 * time.Millisecond; got != want {
						t.Errorf("call %d took %v, want %v", i, got, want)
					}
				}
				if got := b.most.Load(); got != 10 {
					t.Errorf("most calls in the server = %d, want 10", got)
				}
				if count, sum := series(t, r, "offtake_client_queue_wait_seconds", nil); count != 40 || sum != 6 {
					t.Errorf("queue waits = %d with the sum %vs, want 40 with 6s (10 of 0, 0.1, 0.2 and 0.3s)", count, sum)
				}
				if count, sum := series(t, r, "offtake_client_header_wait_seconds", nil); count != 40 || sum != 4 {
					t.Errorf("waits for the server = %d with the sum %vs, want 40 with 4s", count, sum)
				}
				for _, name := range []string{"offtake_client_connect_wait_seconds", "offtake_client_stream_wait_seconds"} {
					if count, sum := series(t, r, name, nil); count != 40 || sum != 0 {
						t.Errorf("%s = %d with the sum %vs, want 40 with 0s", name, count, sum)
					}
				}
				if got := c.Stats(); got.OverLimit != 0 || got.Places != 10 {
					t.Errorf("Stats() = %d calls over the limit, %d places, want 0, 10", got.OverLimit, got.Places)
				}
				wantIdle(t, c)
			})
		})
	}
}

// loop has workers call again as soon as they have an answer, and returns how long
// each call took, in order.
func loop(t *testing.T, cc grpc.ClientConnInterface, workers, calls int) []time.Duration {
	t.Helper()
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		took  []time.Duration
	)
	for range workers {
		group.Go(func() {
			for range calls {
				began := time.Now()
				if err := ask(context.Background(), cc); err != nil {
					t.Errorf("call = %v, want nil", err)
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	group.Wait()
	slices.Sort(took)
	return took
}

func TestEachOfManyWorkersWaitsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{call: slow(50 * time.Millisecond)}
		c := piped(t, capacity.Plan{InFlight: 10, Queue: 40, Wait: time.Second}, nil, u, grpc.MaxConcurrentStreams(10))
		warm(t, c)
		took := loop(t, c, 40, 25)
		if most := took[len(took)-1]; most > 200*time.Millisecond {
			t.Errorf("longest of 1000 calls by 40 workers on 10 streams = %v, want 200ms: four turns of 50ms", most)
		}

		l := pipenet.Listen()
		serve(t, l, u, grpc.MaxConcurrentStreams(10))
		bare, err := grpc.NewClient("passthrough:///upstream", grpc.WithTransportCredentials(plaintext()),
			grpc.WithContextDialer(pipeDial(l)))
		if err != nil {
			t.Fatal(err)
		}
		defer bare.Close()
		took = loop(t, bare, 40, 25)
		if most := took[len(took)-1]; most <= 200*time.Millisecond {
			t.Errorf("longest with grpc-go alone = %v, want more than 200ms, or there is no need for the gate", most)
		}
	})
}

func TestTwoHundredCallsPassAServerThatAllowsTenStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		u := &upstream{call: slow(20 * time.Millisecond)}
		c := piped(t, capacity.Plan{InFlight: 50, Wait: time.Second}, &Options{Registerer: r}, u, grpc.MaxConcurrentStreams(10))
		began := time.Now()
		loop(t, c, 50, 4)
		if got := time.Since(began); got > 5*time.Second {
			t.Errorf("200 calls took %v, want less than 5s", got)
		}
		if _, waited := series(t, r, "offtake_client_queue_wait_seconds", nil); waited == 0 {
			t.Error("offtake_client_queue_wait_seconds has no waits, want the queueing to be seen")
		}
	})
}

func TestRefusalsAreMadeBeforehand(t *testing.T) {
	c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, nil)
	c.core.pool.ready.Store(1) // as if there were a connection
	if _, err := c.core.gate.Enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.core.gate.Leave()
	ctx := context.Background()
	var err error
	if got := testing.AllocsPerRun(100, func() { err = c.Invoke(ctx, methodCall, nil, nil) }); got > 0 {
		t.Errorf("a refusal makes %v allocations, want 0", got)
	}
	wantCode(t, err, codes.ResourceExhausted, QueueFull)
	if e, ok := errors.AsType[*offtake.Error](err); !ok || !errors.Is(err, offtake.ErrBusy) || e.Places != 1 || e.InFlight != 1 {
		t.Errorf("error = %v, want offtake.ErrBusy and an *offtake.Error with 1 of 1 places", err)
	}
}

func TestEveryEndInTheQueueHasACodeOfItsOwn(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Queue: 1, Wait: 300 * time.Millisecond}
	bubble(t, plan, nil, &upstream{call: slow(time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		var group sync.WaitGroup
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()

		late, cancelLate := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancelLate()
		gone, leave := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, leave)
		wantCode(t, ask(late, c), codes.DeadlineExceeded, InQueue)
		wantCode(t, ask(gone, c), codes.Canceled, InQueue)
		wantCode(t, ask(t.Context(), c), codes.ResourceExhausted, QueueTimeout)
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()
		wantCode(t, ask(t.Context(), c), codes.ResourceExhausted, QueueFull)
		group.Wait()
		c.Close()
		wantCode(t, ask(t.Context(), c), codes.Unavailable, ClientClosed)
		wantIdle(t, c)
	})
}

func TestACallWithinACallDoesNotHangTheTwo(t *testing.T) {
	var inner error
	var c *Conn
	o := &Options{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, method string, in, out any, cc *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
			if inner == nil {
				inner = ask(ctx, c)
			}
			return next(ctx, method, in, out, cc, options...)
		})}}
	plan := capacity.Plan{InFlight: 1, Wait: 50 * time.Millisecond}
	bubble(t, plan, o, &upstream{}, func(t *testing.T, conn *Conn) {
		c = conn
		warm(t, c)
		began := time.Now()
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("outer call = %v, want nil", err)
		}
		if !errors.Is(inner, offtake.ErrBusy) || time.Since(began) != 50*time.Millisecond {
			t.Errorf("inner call = %v after %v, want busy after 50ms", inner, time.Since(began))
		}
	})
}

// TestEveryWaitForAPlaceIsRecorded: also those in vain, of streams and of retries.
func TestEveryWaitForAPlaceIsRecorded(t *testing.T) {
	const wait = 50 * time.Millisecond
	r := prometheus.NewRegistry()
	wantWaits := func(t *testing.T, after string, count uint64, sum time.Duration) {
		t.Helper()
		if n, s := series(t, r, "offtake_client_queue_wait_seconds", nil); n != count || s != sum.Seconds() {
			t.Errorf("waits after %s = %d of %vs together, want %d of %vs", after, n, s, count, sum.Seconds())
		}
	}
	var c *Conn
	busy := false
	u := &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
		if busy {
			return slow(time.Second)(ctx, body)
		}
		busy = true
		go ask(context.Background(), c) // has the place by the time of the retry
		return nil, status.Error(codes.Unavailable, "as the test has it")
	}}
	bubble(t, capacity.Plan{InFlight: 1, Queue: 1, Wait: wait, Attempts: 2}, &Options{Registerer: r, Methods: idempotent(codes.Unavailable)}, u, func(t *testing.T, only *Conn) {
		c = only
		warm(t, c)
		wantCode(t, ask(t.Context(), c), codes.ResourceExhausted, QueueTimeout)
		wantWaits(t, "a retry in vain", 3, wait)
		_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		wantCode(t, err, codes.ResourceExhausted, QueueTimeout)
		wantWaits(t, "a stream in vain", 4, 2*wait)
		wantCode(t, ask(t.Context(), c), codes.ResourceExhausted, QueueTimeout)
		wantWaits(t, "a call in vain", 5, 3*wait)
		<-time.After(time.Second)
		wantIdle(t, c)
	})
}
