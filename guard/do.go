package guard

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/offtake-go/offtake/internal/backoff"
	"github.com/offtake-go/offtake/internal/cause"
	"github.com/offtake-go/offtake/internal/incoming"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Do calls f with a place and a bounded context, on the caller's goroutine, and
// returns when f has. Its error is an *offtake.Error if there was no place, a
// [*TimeoutError] if a bound of the plan ended f, the cause of the caller's context
// if that did, a [*RetryError] if f was called more than once and still failed, and
// otherwise f's own.
func (g *Guard) Do(ctx context.Context, f func(ctx context.Context) error, options ...CallOption) error {
	p, err := g.enter(ctx)
	if err != nil {
		return err
	}
	idempotent := g.idempotent(p, options)
	for {
		o, err := p.attempt(idempotent, f)
		if !p.again(o, err, idempotent) {
			return p.end(o, err)
		}
		if err := p.pause(err); err != nil {
			p.left = time.Since(p.start)
			return p.end(g.outcomeOf(p.ctx, err), err)
		}
	}
}

// Call is [Guard.Do] with a result. That of a failed call is what f returned with
// its error.
func Call[T any](ctx context.Context, g *Guard, f func(ctx context.Context) (T, error), options ...CallOption) (T, error) {
	var last T
	p, err := g.enter(ctx)
	if err != nil {
		return last, err
	}
	idempotent := g.idempotent(p, options)
	for {
		value, o, err := attempt(p, idempotent, f)
		if !p.again(o, err, idempotent) {
			return value, p.end(o, err)
		}
		if err := p.pause(err); err != nil {
			p.left = time.Since(p.start)
			return value, p.end(g.outcomeOf(p.ctx, err), err)
		}
	}
}

// attempt runs f once. A panic of f, or runtime.Goexit, gives the place back too.
func (p *Place) attempt(idempotent bool, f func(context.Context) error) (o telemetry.Outcome, err error) {
	p.begin(p.plan.AttemptOf(idempotent))
	returned := false
	defer func() {
		if !returned {
			p.abandon()
		}
	}()
	err = f(p.now)
	returned = true
	return p.leave(err)
}

// attempt is the same with a result: through a closure it would cost two more
// allocations.
func attempt[T any](p *Place, idempotent bool, f func(context.Context) (T, error)) (value T, o telemetry.Outcome, err error) {
	p.begin(p.plan.AttemptOf(idempotent))
	returned := false
	defer func() {
		if !returned {
			p.abandon()
		}
	}()
	value, err = f(p.now)
	returned = true
	o, err = p.leave(err)
	return value, o, err
}

// abandon ends a call whose function did not return.
func (p *Place) abandon() {
	_, _ = p.leave(errPanic)
	p.settle(telemetry.Caller)
}

// end records the call, and says what its retries have to do with its error.
func (p *Place) end(o telemetry.Outcome, err error) error {
	p.settle(o)
	if err != nil && p.earlier != nil {
		return &RetryError{Attempts: p.attempts, Err: err, Earlier: p.earlier}
	}
	return err
}

// idempotent says whether the call may be repeated. One that serves a retry is not:
// each layer would multiply the attempts of the one above.
func (g *Guard) idempotent(p *Place, options []CallOption) bool {
	return (p.plan.Idempotent || slices.Contains(options, Idempotent)) && incoming.Attempt(p.ctx) <= 1
}

// again says whether there is another attempt. The budget is asked last, so that it
// is spent only on what is then done.
func (p *Place) again(o telemetry.Outcome, err error, idempotent bool) bool {
	if err == nil || !idempotent || !o.Failed() || p.attempts >= p.plan.Attempts || p.ctx.Err() != nil {
		return false
	}
	g, now := p.guard, time.Now()
	_, hold := g.flow.Measure(now)
	until := now.Add(backoff.Request.Bound(p.attempts) + min(hold, p.plan.Attempt))
	if until.After(p.start.Add(p.plan.Deadline)) {
		return false
	}
	if d, ok := p.ctx.Deadline(); ok && until.After(d) {
		return false
	}
	if !g.budget.Take(now) {
		if !g.observing.Load() {
			g.broke.Add(1)
			return false
		}
		g.forgave.Add(1)
		g.budget.Charge(now)
	}
	g.telemetry.Retry(retryOf(o))
	return true
}

// pause waits before another attempt, and then for its place: the one before gave
// its own back. It is half of the bound at the least, since what has just failed is
// seldom well at once, and no more than the bound.
func (p *Place) pause(earlier error) error {
	p.earlier = earlier
	bound := backoff.Request.Bound(p.attempts)
	if err := backoff.Sleep(p.ctx, bound/2+rand.N(bound/2+1)); err != nil {
		return cause.Of(p.ctx)
	}
	began := time.Now()
	waited, err := p.guard.gate.EnterBy(p.ctx, p.start.Add(p.plan.Deadline))
	if err != nil {
		return p.guard.explain(p.ctx, began, waited, err)
	}
	p.guard.telemetry.QueueWait(p.ctx, waited)
	p.entered = time.Since(p.start)
	return nil
}

func retryOf(o telemetry.Outcome) telemetry.Retry {
	switch o {
	case telemetry.Timeout:
		return telemetry.RetryTimeout
	case telemetry.Connect, telemetry.DNS:
		return telemetry.RetryConnect
	case telemetry.Reset:
		return telemetry.RetryReset
	}
	return telemetry.RetryStatus
}
