package httpclient

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/backoff"
)

// warmer keeps a client warm, once it was. The pool of net/http has no least
// size: it gives out the connection that was used last, and so in quiet times
// lets all but a few grow too old.
//
// It has a timer and no goroutine. It never sends a request, and so takes nobody's
// place; what it dials is there for whoever comes next.
type warmer struct {
	core *core

	mu        sync.Mutex
	stopped   bool
	timer     *time.Timer
	looking   bool
	looked    time.Time // last
	failures  int       // in a row
	notBefore time.Time // after a failure
	work      sync.WaitGroup
}

// afterFailure is the pause after a warming that failed. It is longer than that
// between attempts of a call, which somebody waits for.
var afterFailure = backoff.Exponential{Base: 200 * time.Millisecond, Cap: 5 * time.Second}

// pause waits out the time that the last failure asks for.
func (w *warmer) pause(ctx context.Context) error {
	w.mu.Lock()
	stopped, left := w.stopped, time.Until(w.notBefore)
	w.mu.Unlock()
	if stopped {
		return offtake.ErrClosed
	}
	return backoff.Sleep(ctx, left)
}

// settle takes note of how a warming ended, and has the next look follow.
func (w *warmer) settle(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failures++
		w.notBefore = time.Now().Add(afterFailure.Pause(w.failures))
		return
	}
	w.failures, w.notBefore = 0, time.Time{}
	if w.timer == nil && !w.stopped {
		w.timer = time.AfterFunc(w.periodLocked(), w.look)
	}
}

// periodLocked is half the time in which an unused connection is closed, give or
// take a tenth, so that the replicas of a service do not all look at once.
func (w *warmer) periodLocked() time.Duration {
	half := w.core.options.Idle / 2
	period := half - half/10 + rand.N(half/5+1)
	return max(period, time.Until(w.notBefore))
}

// look replaces connections that are gone. It runs on the timer's goroutine.
func (w *warmer) look() {
	w.mu.Lock()
	if w.stopped || w.looking {
		w.mu.Unlock()
		return
	}
	w.work.Add(1)
	w.looking, w.looked = true, time.Now()
	w.mu.Unlock()
	defer w.work.Done()

	w.settle(w.topUp())

	w.mu.Lock()
	defer w.mu.Unlock()
	w.looking = false
	if !w.stopped {
		w.timer.Reset(w.periodLocked())
	}
}

// lost has the next look follow soon after a connection has closed, but not for
// each of many, and ever later if the upstream closes all it is given.
func (w *warmer) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil || w.stopped {
		return
	}
	least := w.looked.Add(w.core.options.Idle / 20 * time.Duration(min(10, 1+w.failures)))
	w.timer.Reset(max(0, time.Until(least), time.Until(w.notBefore)))
}

// topUp opens what is missing. With an upstream behind a proxy that is left to
// traffic.
func (w *warmer) topUp() error {
	c := w.core
	top := &warming{core: c, want: c.plan.Load().Warm}
	way := (*warming).renew
	switch {
	case c.streams != nil && !c.streams.plain.Load():
		way = (*warming).share
	case c.options.Base != nil && c.options.Base.Proxy != nil:
		return nil
	}
	err := way(top, c.dialer.life)
	if err == nil && top.got < top.want {
		err = errFewer
	}
	return err
}

// halt ends the watch. A look under way goes on.
func (w *warmer) halt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// stop ends the watch, and waits for a look under way. The dialer is closed
// before, so that it is not long.
func (w *warmer) stop() {
	w.halt()
	w.work.Wait()
}
