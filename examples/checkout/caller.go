package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// tryHeader numbers each try of a caller, so that what became of it can be told
// at every hop: all of them are in this program.
const tryHeader = "X-Try"

// try is one request of a caller.
type try struct {
	left atomic.Bool  // its caller has gone
	call atomic.Int64 // when the gateway called the processor, in Unix nanoseconds
}

func (t *try) called(now time.Time) { t.call.Store(now.UnixNano()) }

// begun returns how long the gateway's call waited before the processor had it.
func (t *try) begun(now time.Time) time.Duration {
	return now.Sub(time.Unix(0, t.call.Load()))
}

// callers place orders and count what becomes of them.
type callers struct {
	in     Incident
	tally  *tally
	client *http.Client
	urls   []string // of the replicas
	number atomic.Uint64
}

// run places orders until the incident is over, one independent of the other,
// and waits for those under way. When each is due follows from rng alone: where
// the machine is late, orders are too, but none is added.
func (c *callers) run(ctx context.Context, rng *rand.Rand) {
	var orders sync.WaitGroup
	start := time.Now()
	end := start.Add(c.in.fastTime(c.in.morning + c.in.midday))
	gap := time.NewTimer(0)
	defer gap.Stop()
	for next := start; next.Before(end); {
		select {
		case <-gap.C:
		case <-ctx.Done():
			orders.Wait()
			return
		}
		for next.Before(end) && !next.After(time.Now()) {
			c.tally.offered.Add(1)
			c.tally.late.Store(max(c.tally.late.Load(), int64(time.Since(next))))
			orders.Go(func() { c.order(ctx) })
			next = next.Add(time.Duration(rng.ExpFloat64() / (c.in.rate * c.in.scale) * float64(time.Second)))
		}
		gap.Reset(time.Until(next))
	}
	orders.Wait()
}

// order places one order, with a second try if the first fails. A 429 is an
// answer: the customer is asked to come back.
func (c *callers) order(ctx context.Context) {
	start := time.Now()
	for range 2 {
		switch c.try(ctx) {
		case http.StatusOK:
			c.tally.completed(time.Since(start))
			return
		case http.StatusTooManyRequests:
			c.tally.refused.Add(1)
			return
		}
	}
	c.tally.failed.Add(1)
}

// try returns the status of one request, 0 for none.
func (c *callers) try(ctx context.Context) int {
	n := c.number.Add(1)
	id := strconv.FormatUint(n, 10)
	t := c.tally.newTry(id)
	ctx, cancel := context.WithTimeout(ctx, c.in.fastTime(c.in.giveUp))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.urls[n%uint64(len(c.urls))], http.NoBody)
	if err != nil {
		panic(err) // the address is that of a server in this program
	}
	req.Header.Set(tryHeader, id)
	resp, err := c.client.Do(req)
	defer t.left.Store(true)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}
