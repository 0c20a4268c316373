package measure

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// upstream is a server that counts what reaches it.
type upstream struct {
	*httptest.Server
	dials    atomic.Int64
	requests atomic.Int64
	wasted   atomic.Int64 // its caller left before it was done
}

// serve starts an upstream over TLS. Handle answers, after it was counted.
func serve(handle func(w http.ResponseWriter, r *http.Request)) *upstream {
	u := new(upstream)
	u.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.requests.Add(1)
		handle(w, r)
		if r.Context().Err() != nil {
			u.wasted.Add(1)
		}
	}))
	u.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that end in the middle are the point
	u.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			u.dials.Add(1)
		}
	}
	u.StartTLS()
	return u
}

// transport is what a careful user of net/http would make for so many calls at
// once.
func (u *upstream) transport(connections int) *http.Transport {
	return &http.Transport{
		TLSClientConfig:     u.Client().Transport.(*http.Transport).TLSClientConfig.Clone(),
		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: connections,
		DisableCompression:  true,
	}
}

// work takes so long, or until the caller has left.
func work(r *http.Request, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
}

// outcome is what became of a load.
type outcome struct {
	calls, good int
	latencies   []time.Duration // of the good ones, sorted
}

func (o outcome) percentile(p float64) time.Duration {
	if len(o.latencies) == 0 {
		return 0
	}
	return o.latencies[min(len(o.latencies)-1, int(p*float64(len(o.latencies))))]
}

// load offers calls at a rate, whatever becomes of them, each with a deadline, and
// waits for the last.
func load(do peers.Do, url string, rate float64, during, deadline time.Duration) outcome {
	var mu sync.Mutex
	var o outcome
	var calls sync.WaitGroup
	start := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for elapsed := time.Duration(0); elapsed < during; elapsed = time.Since(start) {
		for float64(o.calls) < rate*elapsed.Seconds() {
			o.calls++
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				defer cancel()
				began := time.Now()
				status, err := do(ctx, url)
				if took := time.Since(began); err == nil && status == http.StatusOK {
					mu.Lock()
					defer mu.Unlock()
					o.good++
					o.latencies = append(o.latencies, took)
				}
			})
		}
		<-tick.C
	}
	calls.Wait()
	slices.Sort(o.latencies)
	return o
}
