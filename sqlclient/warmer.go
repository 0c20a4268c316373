package sqlclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/offtake-go/offtake/internal/backoff"
)

// warmer opens connections before somebody needs them, and once Warm has succeeded,
// instead of those that are gone. It has a timer, and goroutines only while it
// opens some.
type warmer struct {
	connector *connector
	ctx       context.Context // ends with Close
	cancel    context.CancelFunc

	mu       sync.Mutex
	timer    *time.Timer // nil until warm
	stopped  bool
	failures int // in a row
	work     sync.WaitGroup
}

const (
	// lookEvery is how often the pool is looked at, give or take a tenth.
	lookEvery = 10 * time.Second

	// atOnce is how many connections are opened at a time: a database forks a process
	// for each, and a whole rollout does this at once.
	atOnce = 4
)

// afterFailure is the pause after a look that failed.
var afterFailure = backoff.Exponential{Base: 200 * time.Millisecond, Cap: 5 * time.Second}

// fill opens and proves connections until Plan.Warm stand.
func (c *connector) fill(ctx context.Context) error {
	c.drop(false)
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		errs  []error
	)
	for range atOnce {
		group.Go(func() {
			for c.lacks() {
				if err := c.add(ctx); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// lacks says whether a connection is missing, and if so counts it as being opened.
func (c *connector) lacks() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shut || c.open >= c.db.plan.Load().Warm {
		return false
	}
	c.open++
	c.dialing++
	return true
}

// add opens one connection, proves it, and puts it into the stash.
func (c *connector) add(ctx context.Context) error {
	opened, err := c.dial(ctx)
	if err == nil {
		if err = opened.prove(ctx); err != nil {
			_ = opened.Conn.Close() // it was no good
			c.mu.Lock()
			c.lessLocked()
			c.mu.Unlock()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialing--
	if err == nil {
		opened.since = time.Now()
		c.stash = append(c.stash, opened)
	}
	c.wakeLocked()
	return err
}

func (c *conn) prove(ctx context.Context) error {
	ctx, cancel := context.WithDeadline(ctx, c.until())
	defer cancel()
	if p, ok := c.Conn.(interface{ Ping(context.Context) error }); ok {
		return p.Ping(ctx)
	}
	return ctx.Err()
}

// settle notes how a warming ended, and has the next look follow.
func (w *warmer) settle(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	next := lookEvery - lookEvery/10 + rand.N(lookEvery/5)
	if err == nil {
		w.failures = 0
	} else {
		w.failures++
		next = afterFailure.Bound(w.failures)/2 + afterFailure.Pause(w.failures)/2
	}
	switch {
	case w.timer != nil:
		w.timer.Reset(next)
	case err == nil:
		w.timer = time.AfterFunc(next, w.look)
	}
}

// look replaces what is gone, on the timer's goroutine.
func (w *warmer) look() {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return
	}
	w.work.Add(1)
	w.mu.Unlock()
	defer w.work.Done()
	w.settle(w.connector.fill(w.ctx))
}

// soon has the next look follow the loss of a connection, unless looks fail: then
// the pause between those stands.
func (w *warmer) soon() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil && !w.stopped && w.failures == 0 {
		w.timer.Reset(afterFailure.Base)
	}
}

func (w *warmer) stop() {
	w.mu.Lock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	w.cancel()
	w.work.Wait()
}
