package main

import (
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// processor is the upstream: it authorizes, with a lognormal latency, and allows
// only so much at once.
type processor struct {
	in       Incident
	tally    *tally
	start    time.Time
	inFlight atomic.Int64

	mu  sync.Mutex
	rng *rand.Rand
}

// sigma is the spread of the latency: that of p50 0.3 s and p99 1.2 s.
var sigma = math.Log(4) / 2.3263

func (p *processor) latency() time.Duration {
	mean := p.in.fast
	if time.Since(p.start) > p.in.fastTime(p.in.morning) {
		mean = p.in.slow
	}
	p.mu.Lock()
	z := p.rng.NormFloat64()
	p.mu.Unlock()
	return time.Duration(float64(p.in.fastTime(mean)) * math.Exp(sigma*z-sigma*sigma/2))
}

// ServeHTTP authorizes one order.
func (p *processor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	try := p.tally.tryOf(r)
	p.tally.authorizations.Add(1)
	p.tally.waited(try.begun(time.Now()))
	defer func() {
		if try.left.Load() {
			p.tally.wasted.Add(1)
		}
	}()
	defer p.inFlight.Add(-1)
	if p.inFlight.Add(1) > int64(p.in.limit) {
		http.Error(w, "over the agreed limit", http.StatusServiceUnavailable)
		return
	}
	work := time.NewTimer(p.latency())
	defer work.Stop()
	select {
	case <-work.C:
		io.WriteString(w, "authorized")
	case <-r.Context().Done(): // the gateway has hung up
	}
}
