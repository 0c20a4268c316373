// Package gate holds places and the bounded first-come queue for them.
//
// A place is one request's right to be out. A gate knows how many there are,
// who waits for one, and when to say no: it never waits longer than asked, never
// queues more than asked, and refuses at once a call that could not be served in
// the time it has left.
package gate

import (
	"context"
	"sync"
	"time"
)

// Limits are the sizes of a gate. They are taken as they are: whoever builds a
// gate has resolved a capacity.Plan before.
type Limits struct {
	Places int           // how many may be inside at once; 0 is none, until Resize
	Queue  int           // how many may wait; 0 is none
	Wait   time.Duration // the longest wait; 0 is none
}

// Gate is a set of places and the queue for them. Make one with [New]. All
// methods may be called from any goroutine.
//
// It is tempting to keep the count of places in an atomic and to lock for
// waiters only. But then a newcomer can take a place between a leaver's
// decrement and the hand-over to the head of the queue, and first come is no
// longer first served. One short mutex costs less than that surprise: see the
// benchmarks beside golang.org/x/sync/semaphore.
type Gate struct {
	waiters sync.Pool // of *waiter; not shared among gates, so that a synctest bubble keeps its own channels

	mu       sync.Mutex
	limits   Limits
	observe  bool
	state    state
	inFlight int
	queue    queue
	drain    drainRate
	idle     chan struct{} // made by Drain, closed when the last one has left
	counts   Counts
}

type state uint8

const (
	open state = iota
	draining
	closed
)

// Counts are the decisions of a gate since it was made.
type Counts struct {
	Entered  uint64
	Queued   uint64
	Refused  [Reasons]uint64 // by Reason
	Observed [Reasons]uint64 // by Reason: what observe mode let pass
}

// New returns an open gate.
func New(l Limits) *Gate {
	return &Gate{limits: l}
}

// Enter takes a place, waiting in turn if none is free, and reports how long it
// waited. Every nil error must be paired with one [Gate.Leave].
//
// The error is a [*Refusal], or context.Cause(ctx) if ctx ends first: the
// context wins even against a place granted in the same instant.
func (g *Gate) Enter(ctx context.Context) (time.Duration, error) {
	return g.EnterBy(ctx, time.Time{})
}

// EnterBy is [Gate.Enter] for a call that has a deadline of its own beside that
// of ctx; the zero time is none. To be out of time in the queue is a refusal for
// [Waited]; where a place is free, nobody looks at the clock.
func (g *Gate) EnterBy(ctx context.Context, until time.Time) (time.Duration, error) {
	select {
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	default:
	}
	g.mu.Lock()
	if g.freeLocked() {
		g.takeLocked()
		g.mu.Unlock()
		return 0, nil
	}
	if ok, refusal := g.decideLocked(); refusal != nil {
		g.mu.Unlock()
		return 0, refusal
	} else if ok {
		g.mu.Unlock()
		return 0, nil
	}
	now := time.Now()
	longest := g.limits.Wait
	if !until.IsZero() {
		longest = min(longest, until.Sub(now))
	}
	patience := longest
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, deadline.Sub(now))
	}
	if wait, known := g.expectLocked(now); known && wait > patience {
		refusal := g.refuseLocked(Late)
		g.mu.Unlock()
		return 0, refusal
	}
	return g.wait(ctx, now, longest)
}

// TryEnter takes a place only if one is free and nobody waits for it.
func (g *Gate) TryEnter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.freeLocked() {
		return false
	}
	g.takeLocked()
	return true
}

// Leave gives a place back; the head of the queue, if any, has it at once.
func (g *Gate) Leave() {
	g.mu.Lock()
	if g.inFlight == 0 {
		g.mu.Unlock()
		panic("gate: Leave without Enter")
	}
	g.inFlight--
	if g.queue.len > 0 || g.idle != nil {
		g.grantLocked()
	}
	g.mu.Unlock()
}

// freeLocked says whether a newcomer may have a place at once.
func (g *Gate) freeLocked() bool {
	return g.inFlight < g.limits.Places && g.queue.len == 0 && g.state == open
}

func (g *Gate) takeLocked() {
	g.inFlight++
	g.counts.Entered++
}

// decideLocked decides about a newcomer for whom no place is free: it has one
// all the same, or a refusal, or neither and must wait.
func (g *Gate) decideLocked() (bool, *Refusal) {
	switch {
	case g.state != open:
		return false, g.refuseLocked(Closed)
	case g.observe:
		g.observeLocked()
		g.takeLocked()
		return true, nil
	case g.queue.len >= g.limits.Queue || g.limits.Wait <= 0:
		return false, g.refuseLocked(QueueFull)
	}
	return false, nil
}

// observeLocked counts what an enforced limit would have done. Those above the
// limit are just the ones that would stand in the queue.
func (g *Gate) observeLocked() {
	if g.inFlight-g.limits.Places >= g.limits.Queue {
		g.counts.Observed[QueueFull]++
	}
}

// wait queues the caller. The mutex is held on entry and not on return.
func (g *Gate) wait(ctx context.Context, start time.Time, longest time.Duration) (time.Duration, error) {
	w, _ := g.waiters.Get().(*waiter)
	if w == nil {
		w = newWaiter()
	}
	if g.queue.len == 0 {
		g.drain.begin(start)
	}
	w.refusal = nil
	g.queue.push(w)
	g.counts.Queued++
	timer := w.start(longest)
	g.mu.Unlock()

	var err error
	select {
	case <-w.ready:
		err = w.verdict()
	case <-ctx.Done():
		err = context.Cause(ctx)
		g.cancel(w)
	case <-timer:
		err = g.expire(w)
	}
	w.timer.Stop()
	g.waiters.Put(w)
	if err == nil && ctx.Err() != nil { // between the grant and this line
		err = context.Cause(ctx)
		g.unused()
	}
	return time.Since(start), err
}

// cancel takes w, whose caller is gone, out of the queue, and hands on the place
// if w was given one in the same instant.
func (g *Gate) cancel(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case w.queued:
		g.queue.remove(w)
		g.settleLocked()
	case w.taken() == nil:
		g.unusedLocked()
	}
}

// unused takes back a place that its caller did not live to use.
func (g *Gate) unused() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unusedLocked()
}

func (g *Gate) unusedLocked() {
	g.inFlight--
	g.counts.Entered--
	g.grantLocked()
}

// expire refuses w, whose longest wait is over, unless it was served in the same
// instant.
func (g *Gate) expire(w *waiter) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !w.queued {
		return w.taken()
	}
	g.queue.remove(w)
	g.settleLocked()
	return g.refuseLocked(Waited)
}

// expectLocked is the expected wait of one more caller. With an empty queue
// nothing is known: the last busy period says nothing about the next.
func (g *Gate) expectLocked(now time.Time) (wait time.Duration, known bool) {
	if g.queue.len == 0 {
		return 0, false
	}
	return g.drain.expect(g.queue.len+1, now)
}

// grantLocked hands free places to the head of the queue.
func (g *Gate) grantLocked() {
	for g.queue.len > 0 && (g.inFlight < g.limits.Places || g.observe) {
		w := g.queue.pop()
		g.drain.served(time.Now())
		g.takeLocked()
		w.serve(nil)
	}
	g.settleLocked()
}

// settleLocked tells Drain when the last one has left.
func (g *Gate) settleLocked() {
	if g.idle != nil && g.inFlight == 0 && g.queue.len == 0 {
		close(g.idle)
		g.idle = nil
	}
}

func (g *Gate) refuseLocked(r Reason) *Refusal {
	g.counts.Refused[r]++
	return refusals[r]
}
