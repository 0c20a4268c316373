package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/internal/loopback"
	"github.com/offtake-go/offtake/readiness"
)

const warmingTime = 1500 * time.Millisecond

// TestARollingRestartLosesNothingWithTheGate restarts three replicas one after the
// other behind a real balancer: with the gate and its drain, and without.
func TestARollingRestartLosesNothingWithTheGate(t *testing.T) {
	for _, gated := range []bool{true, false} {
		t.Run(fmt.Sprintf("gate %v", gated), func(t *testing.T) {
			t.Parallel()
			answers := rollingRestart(t, gated)
			failed := 0
			for status, n := range answers {
				if status != http.StatusOK {
					failed += n
				}
			}
			t.Logf("%d calls failed; answers by status: %v", failed, answers)
			if gated && failed > 0 {
				t.Errorf("%d calls failed with the gate, want 0", failed)
			}
			if !gated && failed < 20 {
				t.Errorf("%d calls failed without the gate, want 20 at least: it would not be needed", failed)
			}
		})
	}
}

// rollingRestart sends a load while each replica is replaced, and counts the
// answers.
func rollingRestart(t *testing.T, gated bool) map[int]int {
	t.Helper()
	var replicas []*replica
	var addresses []string
	for range 3 {
		r := startReplica(t, loopback.Free(t), gated)
		replicas = append(replicas, r)
		addresses = append(addresses, r.address)
	}
	for _, r := range replicas {
		<-r.warm
	}
	url := "http://" + startHAProxy(t, addresses, "/readyz", "inter 200ms rise 1 fall 1") + "/order"
	eventually(t, 20*time.Second, "all replicas serve", func() (any, bool) {
		status := get(t.Context(), http.DefaultClient, url)
		return status, status == http.StatusOK
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan map[int]int, 1)
	call := getter(t, url)
	go func() { done <- load(ctx, 60, time.Minute, call) }()
	for _, r := range replicas {
		r.stop(t)
		next := startReplica(t, r.address, gated)
		if gated {
			<-next.warm // the rollout waits for readiness
		}
	}
	pause(t, warmingTime)
	stop()
	return <-done
}

// pause waits as a rollout without a gate does.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-t.Context().Done():
	case <-time.After(d):
	}
}

// replica is a process that takes its time to warm, and answers 503 until then.
type replica struct {
	address string
	gated   bool
	gate    readiness.Gate
	server  *http.Server
	served  chan error
	warm    chan struct{}
	away    atomic.Int32 // probes since the drain began
}

func startReplica(t *testing.T, address string, gated bool) *replica {
	t.Helper()
	r := &replica{address: address, gated: gated, served: make(chan error, 1), warm: make(chan struct{})}
	var warm atomic.Bool
	r.gate.Add("pool", func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(warmingTime):
			warm.Store(true)
			close(r.warm)
			return nil
		}
	})
	ready := readiness.Live() // once it listens
	if gated {
		ready = &r.gate
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, req *http.Request) {
		if r.gate.State() == readiness.Draining {
			r.away.Add(1)
		}
		ready.ServeHTTP(w, req)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		if !warm.Load() {
			http.Error(w, "the pool is cold", http.StatusServiceUnavailable)
		}
	})
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	go func() { r.served <- r.server.Serve(l) }()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- r.gate.Run(ctx) }()
	t.Cleanup(func() {
		r.server.Close()
		cancel()
		<-ran
	})
	return r
}

// stop ends the process: with the gate, after the balancer has looked away. When it
// probes a second time, it has taken note of the first.
func (r *replica) stop(t *testing.T) {
	t.Helper()
	if r.gated {
		r.gate.Drain()
		eventually(t, 20*time.Second, "the balancer has looked twice", func() (any, bool) {
			n := r.away.Load()
			return n, n >= 2
		})
		if err := r.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	} else {
		r.server.Close()
	}
	if err := <-r.served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}
