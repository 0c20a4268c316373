// Package backoff holds the one pause that all retries of this module share.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Exponential pauses with full jitter: each is uniform between 0 and a bound
// that doubles from Base up to Cap. Full jitter spreads a crowd of callers best
// (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015). The
// zero value pauses for nothing.
type Exponential struct {
	Base time.Duration // the bound of the first pause
	Cap  time.Duration // the bound of all later ones
}

// Request is for retries of a call; the numbers are Envoy's for retry_back_off.
var Request = Exponential{Base: 25 * time.Millisecond, Cap: 250 * time.Millisecond}

// Pause returns the pause before the n-th retry; the first is 1.
func (e Exponential) Pause(n int) time.Duration {
	bound := e.Bound(n)
	if bound <= 0 {
		return 0
	}
	return rand.N(bound + 1)
}

// Half is Pause with a floor of half its bound: for retries that the other side
// has allowed at once, and that would else come back in no time.
func (e Exponential) Half(n int) time.Duration {
	half := e.Bound(n) / 2
	return half + rand.N(half+1)
}

// Sleep waits for d, or until ctx ends, and then returns its cause.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Bound is the longest that Pause can return.
func (e Exponential) Bound(n int) time.Duration {
	bound := e.Base
	for range n - 1 {
		if bound >= e.Cap/2 {
			return e.Cap
		}
		bound *= 2
	}
	return min(bound, e.Cap)
}
