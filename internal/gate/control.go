package gate

import (
	"context"
	"time"
)

// Resize changes the limits while the gate is in use. New places go to the
// waiters at once; with fewer places, those inside finish and no place is
// handed on until the count fits. Nobody who already waits is turned away.
func (g *Gate) Resize(l Limits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits = l
	g.grantLocked()
}

// Observe switches observe mode: nobody waits or is refused, and who would have
// found the queue full is counted. Who would have waited too long is not known,
// since nobody does; but a queue that is sized from the wait, as by
// capacity.Demand, is full about when the wait is.
func (g *Gate) Observe(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.observe = on
	g.grantLocked()
}

// Drain refuses newcomers and waits until those inside and those queued are
// done, or ctx is; then it returns context.Cause(ctx), and may be called again.
func (g *Gate) Drain(ctx context.Context) error {
	g.mu.Lock()
	g.state = max(g.state, draining)
	if g.inFlight == 0 && g.queue.len == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close refuses newcomers and all who wait. Those inside still leave as usual.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = closed
	for g.queue.len > 0 {
		w := g.queue.pop()
		w.serve(g.refuseLocked(Closed))
	}
	g.settleLocked()
}

// Snapshot is a gate at one instant.
type Snapshot struct {
	Limits
	Counts
	InFlight   int
	Waiting    int
	Observing  bool
	Draining   bool          // draining or closed
	RetryAfter time.Duration // the expected wait of one more caller; 0 if unknown
}

// Snapshot reads the gate.
func (g *Gate) Snapshot() Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	retryAfter, _ := g.expectLocked(time.Now())
	return Snapshot{
		Limits:     g.limits,
		Counts:     g.counts,
		InFlight:   g.inFlight,
		Waiting:    g.queue.len,
		Observing:  g.observe,
		Draining:   g.state != open,
		RetryAfter: retryAfter,
	}
}
