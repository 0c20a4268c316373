package main

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// tally is what a round measured, in the time of this machine.
type tally struct {
	offered, failed, refused atomic.Int64
	authorizations, wasted   atomic.Int64 // at the processor
	tries                    sync.Map     // of string to *try, by its number
	late                     atomic.Int64 // the most that this machine placed an order late, in nanoseconds

	mu        sync.Mutex
	latencies []time.Duration // of completed orders
	waits     []time.Duration // from the gateway's call until the processor had it
	seen      int             // waits already shown by a live line
}

func (t *tally) newTry(id string) *try {
	made := new(try)
	t.tries.Store(id, made)
	return made
}

// tryOf finds the try that a request belongs to.
func (t *tally) tryOf(r *http.Request) *try {
	found, ok := t.tries.Load(r.Header.Get(tryHeader))
	if !ok {
		return new(try) // somebody else has found the server
	}
	return found.(*try)
}

func (t *tally) completed(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.latencies = append(t.latencies, d)
}

func (t *tally) waited(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waits = append(t.waits, d)
}

// since returns how many orders are completed, and the 95th percentile of the
// waits since it was last asked.
func (t *tally) since() (completed int, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait = percentile(t.waits[t.seen:], 0.95)
	t.seen = len(t.waits)
	return len(t.latencies), wait
}

// times returns the latencies and waits of the round until now. A processor may
// still be at work for a caller that has left.
func (t *tally) times() (latencies, waits []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.latencies), slices.Clone(t.waits)
}

// percentile is 0 for no values.
func percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(p*float64(len(sorted))))]
}
