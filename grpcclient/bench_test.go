package grpcclient

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
)

// The plan of the benchmarks: more than enough, so that what is measured is the way
// through and not the wait.
var benchPlan = capacity.Plan{InFlight: 100, Deadline: 10 * time.Second}

// pair is a server and two clients of it: grpc-go alone, and ours.
func pair(t testing.TB, socket bool) (bare *grpc.ClientConn, ours *Conn) {
	t.Helper()
	var dialer func(context.Context, string) (net.Conn, error)
	var listener net.Listener
	if socket {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		listener, dialer = l, func(ctx context.Context, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}
	} else {
		l := bufconn.Listen(1 << 20)
		listener, dialer = l, func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }
	}
	serve(t, listener, &upstream{})
	bare, err := grpc.NewClient("passthrough:///upstream", grpc.WithTransportCredentials(plaintext()), grpc.WithContextDialer(dialer))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bare.Close() })
	ours = dial(t, "passthrough:///upstream", benchPlan, &Options{Dial: dialer})
	warm(t, ours)
	return bare, ours
}

// once makes a call, with a deadline of the caller's if there is one.
func once(ctx context.Context, cc grpc.ClientConnInterface, deadline time.Duration, in, out *wrapperspb.BytesValue) error {
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	return cc.Invoke(ctx, methodCall, in, out)
}

func BenchmarkUnary(b *testing.B) {
	for _, transport := range []string{"bufconn", "TCP"} {
		bare, ours := pair(b, transport == "TCP")
		for _, bm := range []struct {
			name     string
			cc       grpc.ClientConnInterface
			deadline time.Duration
		}{
			{"bare", bare, time.Second},
			{"offtake", ours, time.Second},
			{"offtake with the plan's deadline", ours, 0},
			{"offtake with a later deadline", ours, time.Hour},
		} {
			b.Run(transport+"/"+bm.name, func(b *testing.B) {
				in, out := wrapperspb.Bytes([]byte("ping")), new(wrapperspb.BytesValue)
				b.ReportAllocs()
				before := cpu()
				for b.Loop() {
					if err := once(b.Context(), bm.cc, bm.deadline, in, out); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// cpu is the time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkInterleaved compares the CPU of both in short turns, since what else the
// machine does changes within a second. It reports the median of what each turn
// cost more than the one beside it, and the same for two clients without us: so
// much is the machine's.
func BenchmarkInterleaved(b *testing.B) {
	bare, ours := pair(b, true)
	in, out := wrapperspb.Bytes([]byte("ping")), new(wrapperspb.BytesValue)
	turn := func(cc grpc.ClientConnInterface) float64 {
		const calls = 200
		before := cpu()
		for range calls {
			if err := once(b.Context(), cc, time.Second, in, out); err != nil {
				b.Fatal(err)
			}
		}
		return float64(cpu()-before) / calls
	}
	var alone, more, noise []float64
	for b.Loop() {
		first, with, second := turn(bare), turn(ours), turn(bare)
		alone = append(alone, first)
		more = append(more, 200*with/(first+second)-100)
		noise = append(noise, 100*second/first-100)
	}
	median := func(d []float64) float64 {
		slices.Sort(d)
		return d[len(d)/2]
	}
	b.ReportMetric(median(alone), "bare-cpu-ns/call")
	b.ReportMetric(median(more), "%more")
	b.ReportMetric(median(noise), "%noise")
}

// BenchmarkLayer has an interceptor answer every call, so that what is measured is
// the way through this package alone; that to a connection and back is not in it.
func BenchmarkLayer(b *testing.B) {
	answer := grpc.WithUnaryInterceptor(func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
		return nil
	})
	bare, err := grpc.NewClient("passthrough:///upstream", grpc.WithTransportCredentials(plaintext()), answer)
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	ours := dial(b, "passthrough:///upstream", benchPlan, &Options{DialOptions: []grpc.DialOption{answer}})
	for _, bm := range []struct {
		name string
		cc   grpc.ClientConnInterface
	}{{"bare", bare}, {"offtake", ours}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := once(b.Context(), bm.cc, time.Second, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRefused is the price of saying no.
func BenchmarkRefused(b *testing.B) {
	c := dial(b, "passthrough:///upstream", capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, nil)
	c.core.pool.ready.Store(1)
	c.core.gate.Enter(b.Context())
	defer c.core.gate.Leave()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Invoke(b.Context(), methodCall, nil, nil); err == nil {
			b.Fatal("Invoke() = nil, want a refusal")
		}
	}
}

// BenchmarkCrowd has 40 workers call a server that allows ten streams on a
// connection and takes 50 ms: with grpc-go alone they queue for one connection,
// and with a plan there are four.
func BenchmarkCrowd(b *testing.B) {
	const workers, window = 40, 500 * time.Millisecond
	address := loopback(b, &upstream{call: slow(50 * time.Millisecond)}, grpc.MaxConcurrentStreams(10))
	bare, err := grpc.NewClient(address, grpc.WithTransportCredentials(plaintext()))
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	ours := dial(b, address, capacity.Plan{InFlight: workers, Streams: 10}, nil)
	warm(b, ours)
	for _, bm := range []struct {
		name string
		cc   grpc.ClientConnInterface
	}{{"bare", bare}, {"offtake", ours}} {
		b.Run(bm.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				took = append(took, crowdFor(b, bm.cc, workers, window)...)
			}
			slices.Sort(took)
			b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
		})
	}
}

// crowdFor has workers call for a time, and returns how long each call took.
func crowdFor(b *testing.B, cc grpc.ClientConnInterface, workers int, window time.Duration) []time.Duration {
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		took  []time.Duration
		over  atomic.Bool
	)
	time.AfterFunc(window, func() { over.Store(true) })
	for range workers {
		group.Go(func() {
			for !over.Load() {
				began := time.Now()
				if err := ask(context.Background(), cc); err != nil {
					b.Errorf("call = %v, want nil", err)
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return took
}
