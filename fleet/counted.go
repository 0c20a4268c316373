package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// Counted shares a limit equally among the replicas that a function counts. Make
// one with [NewDNS] or, with a count of your own, [NewCounted].
//
// A count that rises shrinks the share at once. One that falls lets it grow only
// when nothing higher was seen for the settle time, [Counted.Settle], so that an
// answer which flaps, or is short of some, never lets the sum exceed the limit.
type Counted struct {
	count   func(context.Context) (Count, error)
	reserve Reserve
	options Options
	settle  time.Duration

	mu     sync.Mutex
	status Status
}

// After so many intervals without an answer the last one is out of date: two tries
// may fail.
const freshIntervals = 4

// NewCounted returns a source that asks count every Interval. The function must
// obey its context, and count every replica that may hold places, those that
// terminate included if it can. It may err on the high side: that wastes places
// and breaks nothing.
//
// whole is the plan whose InFlight all replicas have together, and maxReplicas the
// most that are ever alive at the same time: see [NewReserve].
func NewCounted(count func(context.Context) (Count, error), whole capacity.Plan, maxReplicas int, options *Options) (*Counted, error) {
	o, errs := options.resolve()
	reserve, err := NewReserve(whole, maxReplicas, o.Floor)
	errs = append(errs, err)
	if count == nil {
		errs = append(errs, errors.New("count: it is nil; the Count method of a source of addresses would do"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	hold := reserve.Whole().Deadline
	return &Counted{
		count:   count,
		reserve: reserve,
		options: o,
		settle:  max(o.Lag+hold, o.Grace) + freshIntervals*o.Interval,
		status:  Status{Places: reserve.Floor(), Floor: reserve.Floor()},
	}, nil
}

// Settle is how long a lower count must last before the share grows, and how long a
// newcomer has its floor alone: the larger of Lag plus the plan's Deadline, and
// Grace, plus the four intervals that an answer is good for.
func (c *Counted) Settle() time.Duration { return c.settle }

// Floor is the plan to build the client with.
func (c *Counted) Floor() capacity.Plan {
	// A resolved plan's part with no less than its floor resolves: TestEveryPartResolves.
	plan, _ := c.reserve.Plan(0)
	return plan
}

// Status says what is known. Replicas is the number divided by, and 0 while the
// share is the floor.
func (c *Counted) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Follow counts and resizes until ctx is done. It has no use for use: see [Source].
func (c *Counted) Follow(ctx context.Context, resize func(capacity.Plan) error, _ func() Use) error {
	t := tally{settle: c.settle, fresh: freshIntervals * c.options.Interval}
	for next := time.Now(); ; {
		if err := c.apply(t.replicas(time.Now()), resize); err != nil {
			return errors.Join(err, c.apply(0, resize)) // the floor may still be taken
		}
		until := next
		if s := t.stale(); !s.IsZero() && s.Before(until) {
			until = s
		}
		if !sleep(ctx, time.Until(until)) {
			if err := c.apply(0, resize); err != nil {
				return err
			}
			return context.Cause(ctx)
		}
		if now := time.Now(); !now.Before(next) {
			next = now.Add(c.options.Interval)
			c.ask(ctx, &t, next)
		}
	}
}

// ask counts once. It is cut off at by, and when the last answer runs out, since
// nothing can be resized meanwhile.
func (c *Counted) ask(ctx context.Context, t *tally, by time.Time) {
	asked := time.Now()
	if s := t.stale(); !s.IsZero() && s.After(asked) && s.Before(by) {
		by = s
	}
	limited, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	answer, err := c.count(limited)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		t.note(asked, time.Now(), answer)
	}
	c.mu.Lock()
	was := c.status.Err
	c.status.Err = err
	c.mu.Unlock()
	switch {
	case err != nil && was == nil:
		c.options.Logger.WarnContext(ctx, "fleet: replicas can not be counted", "err", err)
	case err == nil && was != nil:
		c.options.Logger.InfoContext(ctx, "fleet: replicas are counted again", "replicas", answer.Replicas)
	}
}

// apply resizes to a share among so many replicas, 0 being the floor.
func (c *Counted) apply(replicas int, resize func(capacity.Plan) error) error {
	plan, err := c.reserve.Plan(c.reserve.Even(replicas))
	if err != nil {
		return err
	}
	if plan.InFlight != c.Status().Places {
		if err := resize(plan); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Places, c.status.Replicas = plan.InFlight, replicas
	return nil
}

// sleep waits and says whether ctx is still good.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
