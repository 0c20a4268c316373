package guard

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/cause"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// overrunGrace is how late a function may come back before it counts as one that
// ignores its context: it may have to tell the upstream.
const overrunGrace = 100 * time.Millisecond

// Place is one call's right to be out. Whoever has taken it with [Guard.Take] gives
// it back with [Place.Done].
type Place struct {
	guard    *Guard
	plan     *capacity.Plan
	ctx      context.Context // the caller's, with the span
	span     trace.Span      // nil without anybody to see it
	start    time.Time
	attempts int
	earlier  error   // how the attempt before ended
	now      *bounds // of this attempt
	limit    time.Duration
	phase    Phase
	entered  time.Duration // since start: when the place was had
	left     time.Duration // since start: when it was given back
	first    bounds
	done     atomic.Bool

	next, previous *Place // in guard.first, while it holds a place
}

// Take waits in turn for a place, as [Guard.Do] does, and has the caller give it
// back: for what begins and ends in different functions. Its time is Plan.Once.
// A place that is never given back is lost, and shows in Stats.Overdue.
func (g *Guard) Take(ctx context.Context) (*Place, error) {
	p, err := g.enter(ctx)
	if err != nil {
		return nil, err
	}
	p.begin(p.plan.Once)
	return p, nil
}

// Context ends with the place's time, with the caller's context, or with Done.
func (p *Place) Context() context.Context { return p.now }

// Done gives the place back. Err is how the call ended; what Done returns is how
// the caller should see it, as from Guard.Do. Calls after the first do nothing but
// return err.
func (p *Place) Done(err error) error {
	if p.done.Swap(true) {
		return err
	}
	o, err := p.leave(err)
	p.settle(o)
	return err
}

// enter makes a call that has a place.
func (g *Guard) enter(ctx context.Context) (*Place, error) {
	start, plan := time.Now(), g.plan.Load()
	ctx, span := g.tracer.Start(ctx, g.options.Name)
	waited, err := g.gate.EnterBy(ctx, start.Add(plan.Deadline))
	if err != nil {
		return nil, g.refused(ctx, span, start, waited, err)
	}
	g.telemetry.QueueWait(ctx, waited)
	return &Place{guard: g, plan: plan, ctx: ctx, span: span, start: start, entered: waited}, nil
}

// refused records why there was no place, and returns it as the caller sees it.
func (g *Guard) refused(ctx context.Context, span trace.Span, start time.Time, waited time.Duration, err error) error {
	err = g.explain(ctx, start, waited, err)
	o := g.outcomeOf(ctx, err)
	now := time.Now()
	g.telemetry.Failed(o, now, err)
	g.telemetry.Call(ctx, telemetry.Func, 0, o, now.Sub(start))
	endSpan(span, o, 0)
	return err
}

func (g *Guard) explain(ctx context.Context, began time.Time, waited time.Duration, err error) error {
	if waited > 0 {
		g.telemetry.QueueWait(ctx, waited)
	}
	refusal, ok := errors.AsType[*gate.Refusal](err)
	if !ok {
		return cause.Of(ctx)
	}
	if refusal.Reason != gate.Closed {
		g.flow.Refused(began)
	}
	return g.gate.Explain(g.options.Name, waited, refusal)
}

// begin starts an attempt of a length, within the deadline.
func (p *Place) begin(limit time.Duration) {
	p.attempts++
	p.limit, p.phase = limit, PhaseAttempt
	if left := p.plan.Deadline - p.entered; limit >= left {
		limit, p.limit, p.phase = left, p.plan.Deadline, PhaseDeadline
	}
	p.now = &p.first
	if p.attempts > 1 {
		p.now = new(bounds) // the function may have kept the first one
	}
	p.now.parent, p.now.until = p.ctx, p.start.Add(p.entered+limit)
	if p.span != nil {
		p.span.AddEvent("offtake.attempt", trace.WithAttributes(attribute.Int("offtake.attempt", p.attempts)))
	}
	p.guard.link(p)
}

// leave ends an attempt and gives its place back.
func (p *Place) leave(err error) (telemetry.Outcome, error) {
	g := p.guard
	at := time.Since(p.start)
	p.left = at
	ended := p.now.end()
	g.unlink(p)
	g.gate.Leave()
	until := p.now.until.Sub(p.start)
	if at > until+overrunGrace {
		g.overran.Add(1)
	}
	now := p.start.Add(at)
	g.flow.Held(now, at-p.entered)
	if err == nil {
		g.telemetry.Attempt(telemetry.CodeOK)
		g.budget.Success(now)
		return telemetry.CodeOK, nil
	}
	err = p.blame(err, ended, at >= until)
	o := g.outcomeOf(p.ctx, err)
	g.telemetry.Attempt(o)
	g.telemetry.Failed(o, now, err)
	return o, err
}

// settle records the whole call, which ended when the place was given back, or
// with what was waited for after that.
func (p *Place) settle(o telemetry.Outcome) {
	p.guard.telemetry.Call(p.ctx, telemetry.Func, 0, o, p.left)
	endSpan(p.span, o, p.attempts)
}

func endSpan(span trace.Span, o telemetry.Outcome, attempts int) {
	if span == nil {
		return
	}
	if attempts > 1 {
		span.SetAttributes(attribute.Int("offtake.attempts", attempts))
	}
	if o != telemetry.CodeOK {
		span.SetAttributes(semconv.ErrorTypeKey.String(o.String()))
		span.SetStatus(codes.Error, o.String())
	}
	span.End()
}

// link, unlink and overdue keep those that are out: a place alone does not know
// how long it has been.
func (g *Guard) link(p *Place) {
	g.mu.Lock()
	p.previous, p.next = nil, g.first
	if p.next != nil {
		p.next.previous = p
	}
	g.first = p
	g.mu.Unlock()
}

func (g *Guard) unlink(p *Place) {
	g.mu.Lock()
	if p.next != nil {
		p.next.previous = p.previous
	}
	if p.previous != nil {
		p.previous.next = p.next
	} else {
		g.first = p.next
	}
	g.mu.Unlock()
}

func (g *Guard) overdue(now time.Time) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := g.first; p != nil; p = p.next {
		if now.After(p.now.until) {
			n++
		}
	}
	return n
}
