package integration

import (
	"bytes"
	"context"
	"flag"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
)

var soak = flag.Duration("soak", 12*time.Second, "how long TestASoakLeavesNothingBehind overloads a service; the nightly run has 10m")

// TestASoakLeavesNothingBehind overloads a service by half its capacity again and
// more, while the way to its upstream goes through one fault after the other, and
// compares what the process holds afterwards with what it held after a fifth of
// the time.
func TestASoakLeavesNothingBehind(t *testing.T) {
	processor, ledger := newUpstream(t, 50*time.Millisecond), newUpstream(t, 2*time.Millisecond)
	proxy := newFaultProxy(t, processor.Listener.Addr().String())
	service := startService(t, "http://"+proxy.Listen, ledger.URL)
	call := getter(t, service)
	var first held
	for i, share := range []time.Duration{*soak / 5, *soak - *soak/5} {
		answers := overload(t, proxy, call, share)
		now := rest()
		t.Logf("after %v more: %+v; answers by status: %v", share, now, answers)
		if i == 0 {
			first = now
			continue
		}
		if now.goroutines > first.goroutines+20 {
			var stacks strings.Builder
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1) // to memory: it can't fail
			t.Errorf("%d goroutines, and %d before: they leak\n%s", now.goroutines, first.goroutines, &stacks)
		}
		if now.descriptors > first.descriptors+20 {
			t.Errorf("%d descriptors, and %d before: they leak", now.descriptors, first.descriptors)
		}
		if now.heap > 2*first.heap+(16<<20) {
			t.Errorf("%d bytes of heap, and %d before: it grows", now.heap, first.heap)
		}
	}
}

// overload sends more than twice what the service was planned for.
func overload(t *testing.T, proxy *toxiproxy.Proxy, call func(context.Context) int, d time.Duration) map[int]int {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan map[int]int, 1)
	go func() { done <- load(ctx, 100, d, call) }()
	for i := 0; ; i++ {
		toxic, err := proxy.Toxics.AddToxicJson(strings.NewReader(soakFaults[i%len(soakFaults)]))
		if err != nil {
			t.Fatal(err)
		}
		var answers map[int]int
		select {
		case answers = <-done:
		case <-time.After(d / time.Duration(2*len(soakFaults))):
		}
		if err := proxy.Toxics.RemoveToxic(context.WithoutCancel(ctx), toxic.Name); err != nil {
			t.Fatal(err)
		}
		if answers != nil {
			return answers
		}
	}
}

var soakFaults = []string{
	`{"type": "latency", "attributes": {"latency": 100, "jitter": 100}}`,
	`{"type": "reset_peer", "attributes": {"timeout": 20}}`,
	`{"type": "timeout", "attributes": {"timeout": 100}}`,
	`{"type": "limit_data", "attributes": {"bytes": 100}}`,
	`{"type": "slow_close", "attributes": {"delay": 200}}`,
}

// held is what the process holds: the service, its callers and its upstreams, but not
// the goroutines of the fault proxy. That has six for each connection, and loses one
// now and then when a toxic is taken away: over ten minutes more than the service
// may lose.
type held struct {
	goroutines, descriptors int
	heap                    uint64
}

// goroutines counts them, those of the fault proxy left out.
func goroutines() (n int) {
	stacks := make([]byte, 1<<20)
	for {
		if size := runtime.Stack(stacks, true); size < len(stacks) {
			stacks = stacks[:size]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if !bytes.Contains(stack, []byte("Shopify/toxiproxy")) {
			n++
		}
	}
	return n
}

// rest lets what has ended go, and looks: the callers' own idle connections live
// for a second. The least of the looks is what stays.
func rest() held {
	least := held{goroutines: 1 << 30, descriptors: 1 << 30}
	for range 30 {
		<-time.After(100 * time.Millisecond)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least.heap = m.HeapAlloc
		least.goroutines = min(least.goroutines, goroutines())
		if open, err := os.ReadDir("/proc/self/fd"); err == nil {
			least.descriptors = min(least.descriptors, len(open))
		}
	}
	return least
}
