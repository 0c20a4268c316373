package readiness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// An attempt longer than this is tried anew. It is well above the longest dial
	// and TLS handshake of a pool, and below what an operator would wait.
	attemptTime = 30 * time.Second

	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// Run runs all checks at once, each again and again with jittered pauses until it
// passes, and opens the gate when the last one has passed. A check that has
// passed is not run again. Without checks the gate opens at once.
//
// Run returns nil once the gate is open, and an error if it never will be:
// context.Cause(ctx), that the gate drains, or the mistakes of Add, all at once.
// It has waited for all checks by then. Call it once, in a goroutine if the
// server is to answer probes meanwhile.
func (g *Gate) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	checks, err := g.start(stop)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for _, c := range checks {
		running.Go(func() { g.try(ctx, c) })
	}
	running.Wait()
	return g.open(ctx)
}

func (g *Gate) start(stop context.CancelCauseFunc) ([]*check, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.mistakesLocked(); err != nil {
		return nil, err
	}
	switch {
	case g.stop != nil:
		return nil, errors.New("readiness: Run was called before; once is enough")
	case g.state == Draining:
		return nil, errDraining
	}
	g.stop = stop
	g.started = time.Now()
	return g.checks[:len(g.checks):len(g.checks)], nil
}

// try runs one check until it passes or ctx ends.
func (g *Gate) try(ctx context.Context, c *check) {
	for n := 0; ; n++ {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		err := c.run(attempt)
		cancel()
		if g.note(ctx, c, err) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause(n)):
		}
	}
}

// note records an attempt and says whether the check has passed. An attempt that
// ends with ctx has nothing to say of its own, and the error before it does.
func (g *Gate) note(ctx context.Context, c *check, err error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.attempts++
	switch {
	case err == nil:
		c.passed, c.err, c.took = true, nil, time.Since(g.started)
	case ctx.Err() == nil || c.err == nil:
		c.err = err
	}
	return c.passed
}

// open opens the gate, if every check has passed.
func (g *Gate) open(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == Draining {
		return errDraining
	}
	if err := g.mistakesLocked(); err != nil {
		return err
	}
	for _, c := range g.checks {
		if c.passed {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return fmt.Errorf("readiness: check %q never returned: it ended its goroutine, as t.FailNow does in a test", c.name)
	}
	g.makeLocked()
	g.state = Ready
	close(g.opened)
	return nil
}

// pause is the time before the next attempt after n+1 failed ones. It doubles up
// to a bound, and half of it is random: replicas that started together must not
// knock together. It is tempting to make all of it random, as for a retry; but a
// check has no budget, and a run of short pauses would hammer an upstream that
// is just coming up.
func pause(n int) time.Duration {
	bound := longestPause
	if n < 6 { // 100 ms × 2⁵ is the last below the bound
		bound = firstPause << n
	}
	return bound/2 + rand.N(bound/2+1)
}
