package admission

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Place is one request's right to be in flight. [Door.Acquire] returns it, and
// whoever has it calls [Place.Release] when the work is done.
type Place struct {
	// Status tells the metrics how the work ended, as an HTTP status of its class.
	// The default, 0, is 200. Set it before Release. That the context ended is seen
	// without it.
	Status int

	door     *Door
	ctx      context.Context
	method   telemetry.Method
	arrived  time.Time
	entered  time.Time
	broken   bool // the handler panicked
	slow     bool // the client kept it waiting for too long
	released atomic.Bool
}

// Acquire takes a place for work that does not come over HTTP: a message from a
// queue, a job, a call of another protocol. It waits in turn with all others at
// the door, no longer than the plan says and ctx lasts. In the metrics its method
// is "other".
//
// The error is an *offtake.Error that wraps offtake.ErrBusy or
// offtake.ErrClosed, or context.Cause(ctx) as it is.
func (d *Door) Acquire(ctx context.Context) (*Place, error) {
	arrived := time.Now()
	waited, err := d.enter(ctx)
	if err == nil {
		return &Place{door: d, ctx: ctx, method: telemetry.OfMethod(notHTTP), arrived: arrived, entered: arrived.Add(waited)}, nil
	}
	refusal, ok := errors.AsType[*gate.Refusal](err)
	if !ok {
		d.metrics.Request(telemetry.OfMethod(notHTTP), ended(ctx), waited)
		return nil, err
	}
	d.metrics.Request(telemetry.OfMethod(notHTTP), d.refused(refusal), waited)
	e := d.gate.Explain(d.name, waited, refusal)
	if refusal.Reason != gate.Closed {
		e.RetryAfter = d.retryAfter(time.Now())
	}
	return nil, e
}

// notHTTP is what has no HTTP method: it is shown as "other".
const notHTTP = "-"

// enter is the gate with the wait recorded. Who is refused at once has not
// waited for a place, and is left out: a flood of refusals would drown the waits
// of those that were served.
func (d *Door) enter(ctx context.Context) (time.Duration, error) {
	waited, err := d.gate.Enter(ctx)
	if err == nil || waited > 0 {
		d.metrics.QueueWait(waited)
	}
	return waited, err
}

// refused counts a refusal. A busy one is demand that had no place; one of a
// closed door is not.
func (d *Door) refused(r *gate.Refusal) telemetry.Outcome {
	if r.Reason == gate.Closed {
		return telemetry.Closed
	}
	d.flow.Refused(time.Now())
	return telemetry.Busy
}

// Release gives the place back; the next in the queue has it at once. Only the
// first call counts.
func (p *Place) Release() {
	if p.released.Swap(true) {
		return
	}
	p.door.gate.Leave()
	now := time.Now()
	p.door.flow.Held(now, now.Sub(p.entered))
	p.door.metrics.Request(p.method, p.outcome(), now.Sub(p.arrived))
}

// outcome is how the work ended. The end of the context comes first: whatever
// was answered after it, nobody was there to read it.
func (p *Place) outcome() telemetry.Outcome {
	switch {
	case p.broken:
		return telemetry.Reset
	case p.slow:
		return telemetry.Timeout
	case p.ctx.Err() != nil:
		return ended(p.ctx)
	case p.Status == 0:
		return telemetry.Status2xx
	}
	return telemetry.OfStatus(p.Status)
}

// ended is the outcome of a context that is over.
func ended(ctx context.Context) telemetry.Outcome {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return telemetry.Timeout
	}
	return telemetry.Canceled
}
